import { isShown } from '../../contracts/answers/board.ts'
import { type HistoryRow, historyOutcome, type SeriesHistory } from '../../contracts/answers/history.ts'
import { verdictRow } from '../../contracts/answers/verdict-row.ts'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import type { Outcome } from '../../contracts/domain/outcome.ts'
import type { Series } from '../../contracts/domain/series.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import { decodeEvent, type MarketKind } from '../../contracts/events/event-catalogue.ts'
import { outcomeStream, verdictStream } from '../../contracts/events/streams.ts'
import type { EventStore } from '../log/event-store.ts'

export interface SeriesHistoryQuery {
  readonly series: Series
  /** `next` of the page before. */
  readonly after?: { readonly verdict: number; readonly outcome: number } | undefined
  readonly limit: number
}

/** Further outcomes that are read: verdicts stand before those that were decided before them. */
const OUTCOMES_BESIDE = 32

/**
 * Verdicts of one series with what became of them, newest first: a page of its two streams, however long they are. On
 * a live market a verdict is shown once its window has closed.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function seriesHistory(
  store: Pick<EventStore, 'read'>,
  { series, after, limit }: SeriesHistoryQuery,
  about: { readonly market: MarketKind; readonly now: number; readonly signal: AbortSignal },
): Promise<SeriesHistory> {
  const { market, now, signal } = about
  const backwards = { direction: 'backwards', signal } as const
  const recorded: { verdict: Verdict; at: string; revision: number }[] = []
  let oldest = Number.POSITIVE_INFINITY
  const verdicts = store.read(verdictStream(series), {
    ...backwards,
    ...(after && { from: after.verdict }),
    limit: limit + OUTCOMES_BESIDE,
  })
  let next: number | undefined
  for await (const one of verdicts) {
    const event = decodeEvent(one)
    if (event.type !== 'VerdictRecorded') continue
    if (recorded.length === limit) {
      next = event.revision
      break
    }
    recorded.push({ verdict: event.data, at: event.at, revision: event.revision })
    oldest = event.data.barClose
  }
  const outcomes = new Map<string, Outcome>()
  let outcomeRevision = 0
  const labelled = store.read(outcomeStream(series), {
    ...backwards,
    ...(after && { from: after.outcome + OUTCOMES_BESIDE }),
    limit: limit + 2 * OUTCOMES_BESIDE,
  })
  for await (const one of labelled) {
    const event = decodeEvent(one)
    if (event.type !== 'OutcomeLabelled') continue
    outcomes.set(event.data.verdictId, event.data)
    if (event.data.barClose >= oldest) outcomeRevision = event.revision
  }
  const shown = recorded.filter(({ verdict }) => isShown(market, verdict, now))
  return {
    market,
    market_time: isoTime(now),
    series,
    newest_regime: after === undefined ? regimeOf(recorded[0]?.verdict) : null,
    rows: shown.map(({ verdict, at }) => rowOf(verdict, at, now, outcomes.get(verdict.verdictId))),
    withheld: recorded.length - shown.length,
    next: next === undefined ? null : `${next}.${outcomeRevision}`,
  }
}

/** The word alone is open to all, at once: as on the board. */
const regimeOf = (verdict: Verdict | undefined): SeriesHistory['newest_regime'] =>
  verdict === undefined
    ? null
    : {
        regime: verdict.regime,
        since: isoTime(verdict.regimeSince),
        bar_close: isoTime(verdict.barClose),
      }

function rowOf(verdict: Verdict, at: string, now: number, outcome: Outcome | undefined): HistoryRow {
  const { cursor: _cursor, ...row } = verdictRow(verdict, '', at, outcome)
  return {
    ...row,
    is_open: verdict.validUntil > now,
    outcome: outcome === undefined ? null : historyOutcome(outcome),
  }
}
