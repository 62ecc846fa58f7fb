import { setImmediate } from 'node:timers/promises'
import { LIMITS } from '../../../../contracts/limits.ts'
import { comparePositions, type Position } from '../../../../contracts/position.ts'
import { createWakeSignal } from '../../async/wake-signal.ts'
import type { LogEntry } from './log-entry.ts'
import type { FollowContext } from './log-tail.ts'
import { readEntries } from './read-events.ts'

/** How long a reading waits for others who begin about now. */
const GATHER_MS = 50
/** Pages that the quickest of those who share a reading may be ahead of the slowest. */
const PAGES_AHEAD = 8

/** The past of the log, for many who go through all of it at the same time. */
export interface SharedReading {
  /** What {@link readEntries} reads. It is read once for all who begin at the same place, and goes on with the slowest. */
  read(after: Position, signal: AbortSignal | undefined): AsyncGenerator<LogEntry, void, void>
}

/** One pass through the log. */
interface Pass {
  readonly after: Position
  /** Numbers of the pages that those who share it take next. */
  readonly riders: Set<{ page: number }>
  /** Pages that somebody has yet to take; the first is number `first`. */
  readonly pages: (readonly LogEntry[])[]
  first: number
  readonly entries: AsyncGenerator<LogEntry, void, void>
  readonly ending: AbortController
  fetching: Promise<void> | undefined
  isWhole: boolean
}

/**
 * Read models are built from the whole log, and the reading costs more than the folding: nine of them at once took as long
 * as nine logs. They move as one: a page is fetched when the slowest is no more than a few behind, so that each page is
 * fetched once and few are held.
 */
export function createSharedReading(context: FollowContext): SharedReading {
  const passes = new Set<Pass>()
  const moved = createWakeSignal()
  let lastTurn: Promise<void> = Promise.resolve()

  /** One page in a turn of the event loop, whoever takes it: callers and the connection have theirs in between. */
  function turn(): Promise<void> {
    lastTurn = lastTurn.then(() => setImmediate())
    return lastTurn
  }

  function begin(after: Position): Pass {
    const ending = new AbortController()
    const pass: Pass = {
      after,
      riders: new Set(),
      pages: [],
      first: 0,
      entries: readEntries(context, after, ending.signal),
      ending,
      fetching: undefined,
      isWhole: false,
    }
    pass.fetching = context.sleep(GATHER_MS, ending.signal).finally(() => {
      pass.fetching = undefined
    })
    passes.add(pass)
    return pass
  }

  async function fetchPage(pass: Pass): Promise<void> {
    const page: LogEntry[] = []
    while (page.length < LIMITS.readPageEvents) {
      const next = await pass.entries.next()
      if (next.done === true) {
        pass.isWhole = true
        break
      }
      page.push(next.value)
    }
    pass.pages.push(page)
  }

  /** The next page for one who shares a pass, once it is there; undefined at the end. */
  async function take(pass: Pass, rider: { page: number }, signal: AbortSignal) {
    while (!signal.aborted) {
      const seen = moved.count
      const page = pass.pages[rider.page - pass.first]
      if (page !== undefined) {
        rider.page += 1
        drop(pass)
        return page
      }
      if (pass.isWhole) return undefined
      const slowest = Math.min(...[...pass.riders].map((other) => other.page))
      if (pass.fetching === undefined && rider.page - slowest < PAGES_AHEAD) {
        pass.fetching = fetchPage(pass).finally(() => {
          pass.fetching = undefined
          moved.notify()
        })
      }
      await (pass.fetching ?? moved.wait(seen, signal))
    }
    return undefined
  }

  /** Lets go of the pages that everybody has taken. */
  function drop(pass: Pass): void {
    const slowest = Math.min(...[...pass.riders].map((rider) => rider.page))
    const taken = Math.min(slowest - pass.first, pass.pages.length)
    if (taken <= 0) return
    pass.pages.splice(0, taken)
    pass.first += taken
    moved.notify()
  }

  return {
    async *read(after, signal = new AbortController().signal) {
      const shared = [...passes].find((pass) => pass.after === after && pass.first === 0)
      const pass = shared ?? begin(after)
      const rider = { page: 0 }
      pass.riders.add(rider)
      try {
        for (let page = await take(pass, rider, signal); page !== undefined; ) {
          for (const entry of page) if (comparePositions(entry.position, after) > 0) yield entry
          page = await take(pass, rider, signal)
          await turn()
        }
      } finally {
        pass.riders.delete(rider)
        if (pass.riders.size > 0) drop(pass)
        else {
          passes.delete(pass)
          pass.ending.abort()
        }
      }
    },
  }
}
