import type { Candle } from '../../contracts/domain/candle.ts'
import { DAY_MS, type Timeframe, timeframeMs } from '../../contracts/domain/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/domain/verdict.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { barrierFraction } from '../../services/engine/barrier.ts'
import type { VerdictModel } from '../../services/engine/model/verdict-model.ts'
import { createRace, type Race, type RaceResult } from '../../services/engine/race.ts'
import { type CallSign, nextCall } from '../../services/engine/series/regime-and-call.ts'
import { SeriesState } from '../../services/engine/series/series-state.ts'
import { BAR_NUMBERS } from './histories.ts'

/** How an outcome ended, as a number: 1 and −1 are the barrier that came first. */
export const ENDED = { up: 1, down: -1, timeout: 0, both: 2, incomplete: 3 } as const

/** A window of a series that is over, with what was known when it began. */
export interface Sample {
  /** Close of the bar, Unix milliseconds. */
  readonly time: number
  readonly coin: number
  /** Number of its history; a call lasts within one. */
  readonly series: number
  readonly priceToEma50: number
  readonly wickBalance: number
  readonly logOdds: number
  readonly ended: number
  /** Return until the outcome was decided, NaN if that is not known; and until the end of the window. */
  readonly decidedReturn: number
  readonly windowReturn: number
  readonly barrier: number
  /** Logarithms of the measures of the ranges, and of window bars × season. */
  readonly v2: number
  readonly v8: number
  readonly m200: number
  readonly season: number
}

type Column = keyof Sample
const COLUMNS: Readonly<Record<Column, Float32ArrayConstructor | Float64ArrayConstructor>> = {
  time: Float64Array,
  coin: Float32Array,
  series: Float32Array,
  priceToEma50: Float64Array,
  wickBalance: Float64Array,
  logOdds: Float64Array,
  ended: Float32Array,
  decidedReturn: Float32Array,
  windowReturn: Float32Array,
  barrier: Float32Array,
  v2: Float32Array,
  v8: Float32Array,
  m200: Float32Array,
  season: Float32Array,
}
const NAMES = Object.keys(COLUMNS) as Column[]

/** All windows of a timeframe, by column. */
export class Samples {
  readonly timeframe: Timeframe
  readonly windowMs: number
  /** Windows of a block depend on one another; all coins of a block count as one. */
  readonly blockMs: number
  readonly columns: Record<Column, Float32Array | Float64Array>
  count = 0
  histories = 0

  constructor(timeframe: Timeframe) {
    this.timeframe = timeframe
    this.windowMs = WINDOW_BARS[timeframe] * timeframeMs(timeframe)
    this.blockMs = Math.max(DAY_MS, 20 * this.windowMs)
    this.columns = Object.fromEntries(
      NAMES.map((name) => [name, new COLUMNS[name](4_096)]),
    ) as Samples['columns']
  }

  add(sample: Sample): void {
    if (this.count === this.columns.time.length)
      for (const name of NAMES) {
        const grown = new COLUMNS[name](2 * this.count)
        grown.set(this.columns[name])
        this.columns[name] = grown
      }
    for (const name of NAMES) this.columns[name][this.count] = sample[name]
    this.count += 1
  }

  at(name: Column, place: number): number {
    return this.columns[name][place] ?? Number.NaN
  }

  blockOf(place: number): number {
    return Math.floor(this.at('time', place) / this.blockMs)
  }

  /** Places of the windows that lie within a period. */
  within(from: number, to: number): number[] {
    const places: number[] = []
    for (let place = 0; place < this.count; place++) {
      const time = this.at('time', place)
      if (time >= from && time + this.windowMs <= to) places.push(place)
    }
    return places
  }

  /** The call of each window's bar; a history begins with HOLD. */
  calls(): Int8Array {
    const calls = new Int8Array(this.count)
    let call: CallSign = 0
    for (let place = 0; place < this.count; place++) {
      if (place > 0 && this.at('series', place) !== this.at('series', place - 1)) call = 0
      call = nextCall(call, 1 / (1 + Math.exp(-this.at('logOdds', place))))
      calls[place] = call
    }
    return calls
  }
}

interface Running {
  readonly sample: Omit<Sample, 'ended' | 'decidedReturn' | 'windowReturn'>
  readonly race: Race
  result: RaceResult | undefined
  barsLeft: number
}

const returnTo = (price: number | null, { entryPrice }: RaceResult): number =>
  price === null || entryPrice === null ? Number.NaN : price / entryPrice - 1

/** Computes a history with the code of the service and adds its windows. */
export function sampleHistory(samples: Samples, model: VerdictModel, coin: number, bars: Float64Array): void {
  const { timeframe } = samples
  const barMs = timeframeMs(timeframe)
  const windowBars = WINDOW_BARS[timeframe]
  const state = new SeriesState(model, timeframe)
  const series = samples.histories++
  const running: Running[] = []
  for (let at = 0; at < bars.length; at += BAR_NUMBERS) {
    const bar = candleAt(bars, at)
    for (const one of running) {
      one.result ??= one.race.take(bar)
      one.barsLeft -= 1
    }
    while (running[0]?.barsLeft === 0) {
      const { sample, result, race } = running.shift() as Running
      const end = result ?? race.end()
      samples.add({
        ...sample,
        ended: ENDED[end.race],
        decidedReturn: returnTo(end.exitPrice, end),
        windowReturn: returnTo(end.closePrice, end),
      })
    }
    state.push(bar)
    if (state.bars < LIMITS.warmUpBars || state.stillness !== undefined) continue
    const time = bar.openTime + barMs
    const barrier = barrierFraction(state.returns.deviation, windowBars)
    const [ema50, wick] = state.factors
    running.push({
      sample: {
        time,
        coin,
        series,
        priceToEma50: ema50?.value ?? Number.NaN,
        wickBalance: wick?.value ?? Number.NaN,
        logOdds: (ema50?.contribution ?? 0) + (wick?.contribution ?? 0),
        barrier,
        ...state.volatility.measures,
        season: Math.log(windowBars * model.ranges[timeframe].season(time, windowBars * barMs)),
      },
      race: createRace({ barClose: time, barMs, windowBars, barrier }),
      result: undefined,
      barsLeft: windowBars,
    })
  }
}

export function candleAt(bars: Float64Array, at: number): Candle {
  const [openTime = 0, open = 0, high = 0, low = 0, close = 0, volume = 0] = bars.subarray(
    at,
    at + BAR_NUMBERS,
  )
  return { openTime, open, high, low, close, volume }
}
