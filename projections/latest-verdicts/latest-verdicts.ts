import type { Outcome } from '../../contracts/domain/outcome.ts'
import { seriesName } from '../../contracts/domain/series.ts'
import type { Verdict } from '../../contracts/domain/verdict.ts'
import { seriesOfVerdictStream } from '../../contracts/events/streams.ts'
import type { Revision } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection, RecordedProjection } from '../projection.ts'

/** The newest verdict of a series, and how many were recorded. Key: the series' name. */
export interface LatestVerdict extends JsonObject {
  readonly verdict: Verdict
  readonly position: string
  readonly recorded: number
  readonly buys: number
  readonly sells: number
}

/** The board: what every series says now. @example rows.get('SIM.BTC.1h')?.verdict.call */
export const latestVerdicts: Projection<LatestVerdict> = {
  name: 'latest_verdicts',
  version: 1,
  events: ['VerdictRecorded'],
  fold(rows, event) {
    if (event.type !== 'VerdictRecorded') return
    const key = seriesName(event.data)
    const before = rows.get(key)
    rows.put(key, {
      verdict: event.data,
      position: event.position,
      recorded: (before?.recorded ?? 0) + 1,
      buys: (before?.buys ?? 0) + (event.data.call === 'BUY' ? 1 : 0),
      sells: (before?.sells ?? 0) + (event.data.call === 'SELL' ? 1 : 0),
    })
  },
}

/** The verdict of a series that was decided last, and the last BUY or SELL among them. Key: the series' name. */
export interface Decided extends JsonObject {
  readonly newest: Outcome
  /** Null while only HOLD was decided. */
  readonly newestCall: Outcome | null
}

/**
 * The public part of each series: the newest verdict whose window has closed, with its outcome. @example
 * rows.get('SIM.BTC.1h')?.newest.race
 */
export const decided: Projection<Decided> = {
  name: 'decided',
  version: 1,
  events: ['OutcomeLabelled'],
  fold(rows, event) {
    if (event.type !== 'OutcomeLabelled') return
    const outcome = event.data
    const key = seriesName(outcome)
    const before = rows.get(key)
    // Labels come in the order in which races end, which is not that of their bars.
    const isNewer = (one: Outcome | null | undefined) => !one || outcome.barClose >= one.barClose
    const isCall = outcome.call !== 'HOLD' && !outcome.recordedLate
    rows.put(key, {
      newest: isNewer(before?.newest) ? outcome : (before?.newest ?? outcome),
      newestCall: isCall && isNewer(before?.newestCall) ? outcome : (before?.newestCall ?? null),
    })
  },
}

/**
 * The place of a verdict in the log. Key: the verdict's id. There is one for every verdict ever recorded, so it holds
 * no more than is needed to read the event itself; its outcome is found by its bar.
 */
export interface VerdictPlace extends JsonObject {
  readonly series: string
  /** In the series' verdict stream. */
  readonly revision: Revision
}

/** Finds a verdict by its id, which the log cannot do. The event that records a verdict has the verdict's id. */
export const verdictIndex: RecordedProjection<VerdictPlace> = {
  name: 'verdict_index',
  version: 2,
  events: ['VerdictRecorded'],
  needs: 'recorded',
  fold(rows, { id, type, stream, revision }) {
    if (type !== 'VerdictRecorded') return
    const series = seriesOfVerdictStream(stream)
    if (series === undefined) throw new TypeError(`a verdict in the stream ${stream}`)
    rows.put(id, { series, revision })
  },
}
