import { setImmediate } from 'node:timers/promises'
import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import { createWakeSignal } from '../../runtime/async/wake-signal.ts'
import type { LogEntry } from './log-entry.ts'
import type { FollowContext } from './log-tail.ts'
import { readEntries } from './read-events.ts'

/** How long a reading waits for others who begin about now. */
const GATHER_MS = 50
/** Pages that the quickest of those who share a reading may be ahead of the slowest. */
const PAGES_AHEAD = 8

/** The past of the log, for many who go through all of it at the same time. */
export interface SharedReading {
  /** Reads the entries of {@link readEntries} once for all readers that begin at the same position, at the pace of the slowest. */
  read(after: Position, signal: AbortSignal | undefined): AsyncGenerator<LogEntry, void, void>
}

/** One scan through the log. */
interface Scan {
  readonly after: Position
  /** Numbers of the pages that those who share it take next. */
  readonly readers: Set<{ page: number }>
  /** Pages that somebody has yet to take; the first is number `first`. */
  readonly pages: (readonly LogEntry[])[]
  first: number
  readonly entries: AsyncGenerator<LogEntry, void, void>
  readonly ending: AbortController
  fetching: Promise<void> | undefined
  isWhole: boolean
}

/**
 * Read models are built from the whole log, and reading costs more than folding. So readers that begin together share
 * each page, at the pace of the slowest.
 */
export function createSharedReading(context: FollowContext): SharedReading {
  const scans = new Set<Scan>()
  const moved = createWakeSignal()
  let lastTurn: Promise<void> = Promise.resolve()

  /** One page in a turn of the event loop: callers and the connection have turns in between. */
  function turn(): Promise<void> {
    lastTurn = lastTurn.then(() => setImmediate())
    return lastTurn
  }

  function begin(after: Position): Scan {
    const scan = createScan(context, after)
    scans.add(scan)
    return scan
  }

  /** The next page for one who shares a scan, once it is there; undefined at the end. */
  async function take(scan: Scan, reader: { page: number }, signal: AbortSignal) {
    while (!signal.aborted) {
      const seen = moved.count
      const page = scan.pages[reader.page - scan.first]
      if (page !== undefined) {
        reader.page += 1
        drop(scan)
        return page
      }
      assert(reader.page >= scan.first, 'a page is kept until each reader took it', reader.page)
      assert(scan.pages.length <= PAGES_AHEAD + 1, 'readers of one scan stay together', scan.pages.length)
      if (scan.isWhole) return undefined
      const slowest = Math.min(...[...scan.readers].map((other) => other.page))
      if (scan.fetching === undefined && reader.page - slowest < PAGES_AHEAD) {
        scan.fetching = fetchPage(scan).finally(() => {
          scan.fetching = undefined
          moved.notify()
        })
      }
      await (scan.fetching ?? moved.wait(seen, signal))
    }
    return undefined
  }

  /** Lets go of the pages that everybody has taken. */
  function drop(scan: Scan): void {
    const slowest = Math.min(...[...scan.readers].map((reader) => reader.page))
    const taken = Math.min(slowest - scan.first, scan.pages.length)
    if (taken <= 0) return
    scan.pages.splice(0, taken)
    scan.first += taken
    moved.notify()
  }

  return {
    async *read(after, signal = new AbortController().signal) {
      const shared = [...scans].find((scan) => scan.after === after && scan.first === 0)
      const scan = shared ?? begin(after)
      const reader = { page: 0 }
      scan.readers.add(reader)
      try {
        for (let page = await take(scan, reader, signal); page !== undefined; ) {
          for (const entry of page) if (comparePositions(entry.position, after) > 0) yield entry
          page = await take(scan, reader, signal)
          await turn()
        }
      } finally {
        scan.readers.delete(reader)
        if (scan.readers.size > 0) drop(scan)
        else {
          scans.delete(scan)
          scan.ending.abort()
        }
      }
    },
  }
}

function createScan(context: FollowContext, after: Position): Scan {
  const ending = new AbortController()
  const scan: Scan = {
    after,
    readers: new Set(),
    pages: [],
    first: 0,
    entries: readEntries(context, after, ending.signal),
    ending,
    fetching: undefined,
    isWhole: false,
  }
  scan.fetching = context.sleep(GATHER_MS, ending.signal).finally(() => {
    scan.fetching = undefined
  })
  return scan
}

async function fetchPage(scan: Scan): Promise<void> {
  const page: LogEntry[] = []
  while (page.length < LIMITS.readPageEvents) {
    const next = await scan.entries.next()
    if (next.done === true) {
      scan.isWhole = true
      break
    }
    page.push(next.value)
  }
  scan.pages.push(page)
}
