import type { RegimeShiftRow } from '../../contracts/answers/history.ts'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import type { Series } from '../../contracts/domain/series.ts'
import { timeframeMs } from '../../contracts/domain/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/domain/verdict.ts'
import type { Position } from '../../contracts/infra/position.ts'
import { type RegimeShift, regimeShiftKey } from '../../projections/index.ts'

export interface RegimeShiftQuery {
  readonly series: Series
  /** Shifts of bars that closed before it, Unix milliseconds; the newest without it. */
  readonly before?: number
  readonly limit: number
  /** Market time, Unix milliseconds: a shift whose window closes later is withheld, as its verdict is. */
  readonly now: number
}

/** The read model that the history is read from. */
export interface RegimeShiftSource {
  range(options: {
    readonly prefix: string
    readonly after?: string
    readonly limit: number
    readonly direction: 'backwards'
  }): readonly { readonly row: unknown }[]
  /** Up to where its rows hold the log. */
  position(): Position
}

export interface RegimeShiftPage {
  readonly asOf: Position
  readonly rows: readonly RegimeShiftRow[]
  /** To go on before; undefined at the end. */
  readonly next: number | undefined
}

/** Shifts of one series, newest first. */
export function regimeShiftHistory(source: RegimeShiftSource, query: RegimeShiftQuery): RegimeShiftPage {
  const { series, before = Number.POSITIVE_INFINITY, limit, now } = query
  const asOf = source.position()
  const closedBefore = Math.floor(now) - WINDOW_BARS[series.timeframe] * timeframeMs(series.timeframe) + 1
  const after = regimeShiftKey(series, Math.min(before, Math.max(0, closedBefore), LATEST_BAR))
  const prefix = regimeShiftKey(series)
  const found = source.range({ prefix, after, limit: limit + 1, direction: 'backwards' })
  const shifts = found.slice(0, limit).map(({ row }) => row as RegimeShift)
  return {
    asOf,
    rows: shifts.map((shift) => rowOf(series, shift)),
    next: found.length > limit ? shifts.at(-1)?.barClose : undefined,
  }
}

/** Behind every bar there will be; the largest that a key holds. */
const LATEST_BAR = 999_999_999_999_999

const rowOf = (series: Series, shift: RegimeShift): RegimeShiftRow => ({
  exchange: series.exchange,
  coin: series.coin,
  timeframe: series.timeframe,
  bar_close: isoTime(shift.barClose),
  regime: shift.regime,
  prior_regime: shift.priorRegime,
  confidence: shift.confidence,
  verdict_id: shift.verdictId,
})
