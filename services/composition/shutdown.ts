import type { Logger } from 'pino'
import { assert } from '../../contracts/errors/assert.ts'
import type { Settings } from '../runtime/config/settings.ts'

export type Shutdown = ReturnType<typeof createShutdown>

/** A process before any of its parts is open. */
export interface Start {
  readonly settings: Settings
  readonly log: Logger
  readonly shutdown: Shutdown
}

/** The two phases in which a process ends: it drains, then it closes its parts. */
export function createShutdown(log: Pick<Logger, 'error'>) {
  const [draining, stopping] = [new AbortController(), new AbortController()]
  const closers: (() => Promise<void>)[] = []
  let drain: (() => Promise<void>) | undefined
  let stopped: Promise<void> | undefined
  const attempt = async (close: (() => Promise<void>) | undefined): Promise<void> => {
    try {
      await close?.()
    } catch (error) {
      log.error({ err: error }, 'closing failed')
    }
  }
  async function stopAll(): Promise<void> {
    draining.abort()
    await attempt(drain)
    stopping.abort()
    for (const close of closers) await attempt(close)
  }
  return {
    /** Aborted when the process begins to end: it takes no new work. */
    drainSignal: draining.signal,
    /** Aborted once nobody calls any more: the parts end the work that calls needed. */
    stopSignal: stopping.signal,
    /** Registers a function that ends calls and work, which runs before any part is closed. */
    onDrain(given: () => Promise<void>) {
      assert(drain === undefined && stopped === undefined, 'calls and work are ended in one place')
      drain = given
    },
    /** Registers a function that closes a part; the last one registered runs first. */
    onClose(close: () => Promise<void>) {
      assert(stopped === undefined, 'no part is opened in a process that ends')
      closers.unshift(close)
    },
    /** Ends and closes everything; later calls wait for the first. A part that fails does not keep the others open. */
    stop: () => (stopped ??= stopAll()),
  }
}
