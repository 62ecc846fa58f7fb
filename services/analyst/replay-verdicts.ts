import type { Position } from '../../contracts/position.ts'
import { type VerdictRow, verdictRow } from '../../contracts/verdict-row.ts'
import type { LookedAt } from '../log/event-store.ts'
import type { Turn } from '../runtime/admission/turns.ts'
import { createDecidedTimes } from './decided-times.ts'
import { matchingVerdicts, type VerdictLog } from './matching-verdicts.ts'
import { createLook, formatCursor, type ReplayCursor } from './replay-cursor.ts'
import { isCallAsked, type ReplayFilter } from './replay-filter.ts'

export interface ReplayOptions {
  readonly filter: ReplayFilter
  readonly after: ReplayCursor
  /** The log as it was: a position, or the instant up to which events had been appended. */
  readonly upTo?: Position | Date
  readonly limit: number
  /** Market time, Unix milliseconds: verdicts whose window closes later are withheld. Infinity shows all. */
  readonly now: number
  readonly signal: AbortSignal
  /** Shares the thread with others; it has it to itself without one. */
  readonly turn?: Turn
  /** How long to look for a first verdict; to the end of the log without it. */
  readonly search?: ReplaySearch
}

export interface ReplaySearch {
  /** Most events that are read, approximately. */
  readonly events: number
  /** Told where to go on; the replay ends then. */
  readonly onEnd: (cursor: ReplayCursor) => void
  /**
   * Told at the end of the log, where no verdict was shown and some are withheld: when the first of their windows closes,
   * market time. Its call is not looked at.
   */
  readonly onNothing: (nextVisibleAt: number) => void
}

/**
 * Recorded verdicts in the order of the log. Verdicts whose window is still open are what callers pay for, so they are
 * withheld until it closes; a cursor after any row resumes without loss or repeat.
 */
export async function* replayVerdicts(
  store: VerdictLog,
  options: ReplayOptions,
): AsyncGenerator<VerdictRow, void, void> {
  const { filter, limit, turn, search, now } = options
  const upTo = options.upTo ?? (await store.head())
  const found = new AbortController()
  const signal = AbortSignal.any([options.signal, found.signal])
  const decided = createDecidedTimes(store, { upTo, signal })
  let left = limit
  let searched = 0
  let nextVisibleAt = Number.POSITIVE_INFINITY
  for (let from: ReplayCursor | undefined = options.after; from !== undefined; ) {
    const look = createLook(from, now)
    const onLooked = async ({ upTo: passed, events: count }: LookedAt): Promise<void> => {
      searched += count
      if (search !== undefined && left === limit && searched >= search.events) {
        search.onEnd(look.passed(passed))
        found.abort()
      }
      if (turn?.isOver() === true) await turn.again()
    }
    const events = matchingVerdicts(store, { filter, after: look.readAfter, upTo, signal, onLooked })
    for await (const event of events) {
      if (turn?.isOver() === true) await turn.again()
      const { validUntil } = event.data
      if (validUntil > now) nextVisibleAt = Math.min(nextVisibleAt, validUntil)
      const cursor = look.offer(event.position, validUntil)
      if (look.isHeldUp()) return
      if (cursor === undefined || !isCallAsked(filter, event.data)) continue
      yield verdictRow(event.data, formatCursor(cursor), event.at, await decided.of(event.data))
      left -= 1
      if (left === 0) return
    }
    if (signal.aborted) return
    from = from.second === undefined ? undefined : look.end()
  }
  if (left === limit && Number.isFinite(nextVisibleAt)) search?.onNothing(nextVisibleAt)
}
