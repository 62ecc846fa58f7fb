import type { VerdictRow } from '../../contracts/answers/verdict-row.ts'
import type { Position } from '../../contracts/infra/position.ts'
import type { LookedAt } from '../log/event-store.ts'
import type { Turn } from '../runtime/admission/turns.ts'
import { matchingEvents, type VerdictLog } from './matching-events.ts'
import type { ReplayFilter } from './replay-filter.ts'
import { createRowMaker, rowEventType } from './shown-rows.ts'

export interface ReplayOptions {
  readonly filter: ReplayFilter
  /** Position of the row after which it goes on. */
  readonly after: Position
  /** The log as it was: a position, or the instant up to which events had been appended. */
  readonly upTo?: Position | Date
  readonly limit: number
  /** Whether verdicts without an outcome are shown, too; all are then in the order in which they were recorded. */
  readonly withOpen: boolean
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
  readonly onEnd: (passed: Position) => void
}

/**
 * Verdicts in the order in which their outcomes were recorded. The cursor of a row is the position of its outcome: all that
 * comes later is after it, so a replay that goes on from any row loses and repeats nothing.
 */
export async function* replayVerdicts(
  store: VerdictLog,
  options: ReplayOptions,
): AsyncGenerator<VerdictRow, void, void> {
  const { filter, after, limit, withOpen, turn, search } = options
  const upTo = options.upTo ?? (await store.head())
  const found = new AbortController()
  const signal = AbortSignal.any([options.signal, found.signal])
  let left = limit
  let searched = 0
  const onLooked = async ({ upTo: passed, events: count }: LookedAt): Promise<void> => {
    searched += count
    if (search !== undefined && left === limit && searched >= search.events) {
      search.onEnd(passed)
      found.abort()
    }
    if (turn?.isOver() === true) await turn.again()
  }
  const rowOf = createRowMaker(store, { upTo, signal })
  const wanted = { type: rowEventType(withOpen), filter, after, upTo, signal, onLooked }
  for await (const event of matchingEvents(store, wanted)) {
    if (turn?.isOver() === true) await turn.again()
    const { row } = await rowOf(event)
    // What was read to its end only in part is no row.
    if (signal.aborted) return
    yield row
    left -= 1
    if (left === 0) return
  }
}
