import { assert } from '../../contracts/assert.ts'
import type { Settings } from '../runtime/config/settings.ts'
import { createLog } from '../runtime/logging/log.ts'

export type Lifetime = ReturnType<typeof beginLifetime>

/**
 * The settings and the log of a process, and the ways in which its parts end.
 *
 * @example const life = beginLifetime(settings); try { await openPlatform(life) } finally { await life.stop() }
 */
export function beginLifetime(settings: Settings, log = createLog(settings.LOG_LEVEL)) {
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
    /** Aborted when the process begins to end: it takes no new work. */
    signal: ending.signal,
    /** Aborted once nobody calls any more: the parts end the work that calls needed. */
    closing: closing.signal,
    /** Registers a function that closes a part; the last one registered runs first. */
    onClose: (close: () => Promise<void>) => {
      assert(stopped === undefined, 'no part is opened in a process that ends')
      closers.unshift(close)
    },
    /** Registers the function that ends calls and work, which runs before any part is closed. */
    onEnd: (given: () => Promise<void>) => {
      assert(end === undefined && stopped === undefined, 'calls and work are ended in one place')
      end = given
    },
    /** Ends and closes everything; later calls wait for the first. A part that fails does not keep the others open. */
    stop: () => (stopped ??= stopAll()),
  }
}
