import type { Logger } from 'pino'
import { assert } from '../../contracts/assert.ts'
import type { Settings } from '../runtime/config/settings.ts'
import { createLog } from '../runtime/logging/log.ts'

/** The settings and the log of a process, and the ways in which its parts end. */
export interface Lifetime {
  readonly settings: Settings
  readonly log: Logger
  /** Aborted when the process begins to end: it takes no new work. */
  readonly signal: AbortSignal
  /** Aborted once nobody calls any more: the parts end the work that calls needed. */
  readonly closing: AbortSignal
  /** Registers a function that closes a part; the last one registered runs first. */
  readonly onClose: (close: () => Promise<void>) => void
  /** Registers the function that ends calls and work, which runs before any part is closed. */
  readonly onEnd: (end: () => Promise<void>) => void
  /** Ends and closes everything; later calls wait for the first. A part that fails does not keep the others open. */
  readonly stop: () => Promise<void>
}

/** @example const life = beginLifetime(settings); try { await openPlatform(life) } finally { await life.stop() } */
export function beginLifetime(settings: Settings, log = createLog(settings.LOG_LEVEL)): Lifetime {
  const [ending, closing] = [new AbortController(), new AbortController()]
  const closers: (() => Promise<void>)[] = []
  let end: (() => Promise<void>) | undefined
  let stopped: Promise<void> | undefined
  const attempt = async (close: (() => Promise<void>) | undefined): Promise<void> => {
    try {
      await close?.()
    } catch (error) {
      log.error({ err: error }, 'closing failed')
    }
  }
  async function stopAll(): Promise<void> {
    ending.abort()
    await attempt(end)
    closing.abort()
    for (const close of closers) await attempt(close)
  }
  return {
    settings,
    log,
    signal: ending.signal,
    closing: closing.signal,
    onClose(close) {
      assert(stopped === undefined, 'no part is opened in a process that ends')
      closers.unshift(close)
    },
    onEnd(given) {
      assert(end === undefined && stopped === undefined, 'calls and work are ended in one place')
      end = given
    },
    stop: () => (stopped ??= stopAll()),
  }
}
