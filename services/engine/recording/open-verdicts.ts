import type { Series } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { outcomeStream, verdictStream } from '../../../contracts/events/streams.ts'
import type { Revision } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'

const FEW_OPEN = 32

/** The verdicts of a series that have no outcome yet: a stretch of its stream. */
export interface OpenVerdicts {
  readonly series: Series
  /** Revision of the first one in the verdict stream; after `end` when none is open. */
  readonly from: Revision
  /** Newest event of the verdict stream; −1 in an empty one. */
  readonly end: Revision
  /** Bar close of the oldest one, Unix milliseconds: its race is entered at the bar that opens then. */
  readonly oldestBarClose: number | undefined
}

/**
 * Finds the verdicts without an outcome from the log alone. Outcomes are appended in the order of their bars, so these
 * are the ones after the newest outcome. Only the place of the oldest is kept, however many there are.
 *
 * @throws ServiceError `store_unavailable`, `event_unreadable`
 */
export async function openVerdictsOf(store: EventStore, series: Series): Promise<OpenVerdicts> {
  const labelled = await newestOutcome(store, series)
  const stream = verdictStream(series)
  if (labelled === undefined) {
    const [oldest, newest] = await Promise.all([
      firstOf(store.read(stream, { limit: 1 })),
      firstOf(store.read(stream, { direction: 'backwards', limit: 1 })),
    ])
    const oldestBarClose = oldest === undefined ? undefined : barCloseOf(oldest)
    return { series, from: 0, end: newest?.revision ?? -1, oldestBarClose }
  }
  let end: Revision | undefined
  let from: Revision | undefined
  let oldestBarClose: number | undefined
  for await (const event of newestFirst(store, stream)) {
    end ??= event.revision
    const barClose = barCloseOf(event)
    if (barClose === undefined || barClose <= labelled) break
    from = event.revision
    oldestBarClose = barClose
  }
  return { series, from: from ?? (end ?? -1) + 1, end: end ?? -1, oldestBarClose }
}

/** Few at first: of most series, the verdicts of one window are open, and a page holds those of many. */
async function* newestFirst(store: EventStore, stream: string): AsyncGenerator<Recorded, void, void> {
  const direction = 'backwards'
  let next = 0
  for await (const event of store.read(stream, { direction, limit: FEW_OPEN })) {
    yield event
    next = event.revision - 1
  }
  if (next >= 0) yield* store.read(stream, { direction, from: next })
}

type Recorded = Parameters<typeof decodeEvent>[0]

async function newestOutcome(store: EventStore, series: Series): Promise<number | undefined> {
  const newest = await firstOf(store.read(outcomeStream(series), { direction: 'backwards', limit: 1 }))
  return newest === undefined ? undefined : barCloseOf(newest)
}

async function firstOf(events: AsyncIterable<Recorded>): Promise<Recorded | undefined> {
  for await (const event of events) return event
  return undefined
}

function barCloseOf(recorded: Recorded): number | undefined {
  const event = decodeEvent(recorded)
  return 'barClose' in event.data ? event.data.barClose : undefined
}

/**
 * The time from which an open verdict needs bars beyond the warm-up of its series; undefined when the warm-up is
 * enough. Bars older than `LIMITS.outcomeBackfillMs` are not fetched.
 *
 * @param now market time, Unix milliseconds
 */
export function backfillFrom({ series, oldestBarClose }: OpenVerdicts, now: number): number | undefined {
  const warmUpFrom = now - LIMITS.warmUpBars * timeframeMs(series.timeframe)
  if (oldestBarClose === undefined || oldestBarClose >= warmUpFrom) return undefined
  return Math.max(oldestBarClose, now - LIMITS.outcomeBackfillMs)
}
