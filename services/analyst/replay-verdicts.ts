import { decodeEvent } from '../../contracts/event-catalogue.ts'
import type { Position } from '../../contracts/position.ts'
import { type VerdictRow, verdictRow } from '../../contracts/verdict-row.ts'
import type { EventStore } from '../platform/event-store/event-store.ts'
import { createLook, formatCursor, type ReplayCursor } from './replay-cursor.ts'
import { matchesFilter, type ReplayFilter, storeFilter } from './replay-filter.ts'

export interface ReplayOptions {
  readonly filter: ReplayFilter
  readonly after: ReplayCursor
  /** The log as it was: a position, or the instant up to which events had been appended. */
  readonly upTo?: Position | Date
  readonly limit: number
  /** Market time, Unix milliseconds: verdicts whose window closes later are withheld. Infinity shows all. */
  readonly now: number
  readonly signal: AbortSignal
}

/**
 * Recorded verdicts in the order of the log. Verdicts whose window is still open are what callers pay for, so
 * they are withheld until it closes; a cursor behind any row resumes without loss or repeat.
 */
export async function* replayVerdicts(
  store: EventStore,
  options: ReplayOptions,
): AsyncGenerator<VerdictRow, void, void> {
  const { filter, limit, signal } = options
  const upTo = options.upTo ?? (await store.head())
  let left = limit
  for (let from: ReplayCursor | undefined = options.after; from !== undefined; ) {
    const look = createLook(from, options.now)
    const events = store.readAll({ after: look.readAfter, upTo, filter: storeFilter(filter), signal })
    for await (const recorded of events) {
      const event = decodeEvent(recorded)
      if (event.type !== 'VerdictRecorded' || !matchesFilter(filter, event.data)) continue
      const cursor = look.offer(event.position, event.data.validUntil)
      if (cursor === undefined) continue
      yield verdictRow(event.data, formatCursor(cursor), event.at)
      left -= 1
      if (left === 0) return
    }
    from = from.second === undefined || signal.aborted ? undefined : look.end()
  }
}
