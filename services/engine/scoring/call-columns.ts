import { callReturn, type Outcome, RACE_OUTCOMES } from '../../../contracts/outcome.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { DAY_MS, type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../../contracts/verdict.ts'

/** A verdict with what became of it: every recorded outcome is one. */
export type ScoredCall = Pick<
  Outcome,
  | 'exchange'
  | 'coin'
  | 'timeframe'
  | 'barClose'
  | 'call'
  | 'probability'
  | 'barrier'
  | 'race'
  | 'entryPrice'
  | 'exitPrice'
> &
  Partial<Pick<Outcome, 'closesHigher' | 'closePrice'>>

/** The scored calls of a series in order of time, one element a bar: years of short bars are millions of them. */
export interface SeriesCalls {
  readonly series: Series
  readonly barClose: Float64Array
  readonly probability: Float64Array | Float32Array
  /** 1 BUY, −1 SELL, 0 HOLD. */
  readonly sign: Int8Array
  /** Index into `RACE_OUTCOMES`. */
  readonly race: Uint8Array
  readonly barrier: Float64Array | Float32Array
  /** Return of buying at the start of the race and leaving at its end, as a fraction; NaN when unknown. */
  readonly rise: Float64Array | Float32Array
}

const SIGNS = { BUY: 1, SELL: -1, HOLD: 0 } as const

/**
 * Calls as columns, by series.
 *
 * @param calls in any order; at most one per series and bar
 */
export function columnsOf(calls: readonly ScoredCall[]): SeriesCalls[] {
  const bySeries = Map.groupBy(calls, seriesName)
  return [...bySeries.keys()].toSorted().flatMap((name): SeriesCalls[] => {
    const own = (bySeries.get(name) ?? []).toSorted((a, b) => a.barClose - b.barClose)
    const [first] = own
    if (first === undefined) return []
    const { exchange, coin, timeframe } = first
    return [
      {
        series: { exchange, coin, timeframe },
        barClose: Float64Array.from(own, ({ barClose }) => barClose),
        probability: Float64Array.from(own, ({ probability }) => probability),
        sign: Int8Array.from(own, ({ call }) => SIGNS[call]),
        race: Uint8Array.from(own, ({ race }) => RACE_OUTCOMES.indexOf(race)),
        barrier: Float64Array.from(own, ({ barrier }) => barrier),
        rise: Float64Array.from(own, (call) =>
          call.race === 'both' ? Number.NaN : (callReturn(call, 'BUY') ?? Number.NaN),
        ),
      },
    ]
  })
}

/**
 * Calls with the outcomes of others: those of the same series half its calls later, from the end going on at
 * the beginning. The outcomes keep their order and their neighbours; what is left of any skill is chance.
 */
export const rollOutcomes = (all: readonly SeriesCalls[]): SeriesCalls[] =>
  all.map((calls) => ({
    ...calls,
    race: rolled(calls.race),
    barrier: rolled(calls.barrier),
    rise: rolled(calls.rise),
  }))

/** A column begun at its middle, its first half following its second. */
export function rolled<Column extends Uint8Array | Float32Array | Float64Array>(column: Column): Column {
  const half = column.length >> 1
  const moved = column.slice() as Column
  moved.set(column.subarray(half), 0)
  moved.set(column.subarray(0, half), column.length - half)
  return moved
}

/** Races in different blocks of time count as independent; a block is this many windows long, but a day at least. */
const WINDOWS_PER_BLOCK = 20

const windowMs = (timeframe: Timeframe): number => WINDOW_BARS[timeframe] * timeframeMs(timeframe)

/** The block of time that a bar lies in. */
export const blockOf = (timeframe: Timeframe, barClose: number): number =>
  Math.floor(barClose / Math.max(DAY_MS, WINDOWS_PER_BLOCK * windowMs(timeframe)))

/**
 * Places of the BUY and SELL calls of a series whose races do not overlap: the first, then always the next one
 * that closes when the window of the one before is over, or later.
 */
export function nonOverlapping({ series, barClose, sign }: SeriesCalls): number[] {
  const window = windowMs(series.timeframe)
  const places: number[] = []
  let freeFrom = 0
  for (let place = 0; place < sign.length; place++) {
    const at = barClose[place] ?? 0
    if (sign[place] === 0 || at < freeFrom) continue
    places.push(place)
    freeFrom = at + window
  }
  return places
}

/** Changes of the call from one bar of a series to its next, per series and day of bars; null without two in a row. */
export function callChanges(all: readonly SeriesCalls[]): number | null {
  let changes = 0
  let watchedMs = 0
  for (const { series, barClose, sign } of all) {
    const barMs = timeframeMs(series.timeframe)
    for (let place = 1; place < sign.length; place++) {
      if ((barClose[place - 1] ?? 0) + barMs !== barClose[place]) continue
      watchedMs += barMs
      if (sign[place] !== sign[place - 1]) changes += 1
    }
  }
  return watchedMs === 0 ? null : (changes * DAY_MS) / watchedMs
}
