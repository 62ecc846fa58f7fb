import { type Series, seriesName } from '../../../../contracts/domain/series.ts'
import {
  HOUR_MS,
  MINUTE_MS,
  TIMEFRAMES,
  type Timeframe,
  timeframeMs,
} from '../../../../contracts/domain/timeframes.ts'
import { exposedGc } from '../../../../testing/exposed-gc.ts'
import { createRandom } from '../../simulated/random.ts'
import { LIVE_EXCHANGES } from '../venues.ts'
import { startLiveBench } from './live-bench.ts'

export interface SoakOptions {
  readonly venues: number
  readonly coins: number
  /** Market time behind the seam. */
  readonly minutes: number
  readonly seed: number
  /** Bars of each series before it. */
  readonly historyBars: number
  readonly timeframes?: readonly Timeframe[]
  /** Told at every sample. */
  readonly onSample?: (sample: SoakSample) => void
}

export interface SoakSample {
  /** Market time after the seam. */
  readonly minute: number
  /** After a collection, bytes. */
  readonly heapBytes: number
  readonly bars: number
  readonly requests: number
}

export interface SoakResult {
  readonly samples: readonly SoakSample[]
  /** Series that missed a bar, or told one twice or out of order. */
  readonly broken: readonly string[]
  readonly lateBars: number
  readonly faults: number
}

/** Begins shortly before an hour; a Tuesday like others. */
const START = Date.UTC(2026, 2, 3, 9, 57, 20)

/** Samples in one run. */
const SAMPLES = 20

/** One request in so many for bars goes wrong, one way or another. */
const FAULT_EVERY = 50

/**
 * Follows many coins on many venues for hours of market time, in which requests go wrong now and then, and
 * weighs the heap as it goes.
 */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { venues, coins: coinCount, minutes, seed, historyBars, timeframes = TIMEFRAMES } = options
  const exchanges = LIVE_EXCHANGES.slice(0, venues)
  const coins = Array.from({ length: coinCount }, (_, index) => (index === 0 ? 'BTC' : `COIN${index}`))
  await using bench = await startLiveBench({ exchanges, coins, start: START, historyBars })
  const random = createRandom(seed)
  let faults = 0
  const isUnlucky = (): boolean => {
    const isHit = random.uniform() * FAULT_EVERY < 1
    if (isHit) faults += 1
    return isHit
  }
  for (const exchange of exchanges) {
    bench
      .venue(exchange)
      .fail('candles', { kind: 'status', status: 429, retryAfter: '1' }, Number.POSITIVE_INFINITY, isUnlucky)
    bench.venue(exchange).fail('candles', { kind: 'reset' }, Number.POSITIVE_INFINITY, isUnlucky)
  }
  const series = exchanges.flatMap((exchange) =>
    coins.flatMap((coin) => timeframes.map((timeframe): Series => ({ exchange, coin, timeframe }))),
  )
  const newest = new Map<string, number>()
  const broken = new Set<string>()
  const samples: SoakSample[] = []
  const collectGarbage = exposedGc()
  const seam = Math.floor(START / MINUTE_MS) * MINUTE_MS
  const every = Math.max(1, Math.floor(minutes / SAMPLES)) * MINUTE_MS
  let nextSample = seam + every
  let bars = 0
  let lateBars = 0

  function sample(at: number): void {
    collectGarbage()
    const requests = exchanges.reduce(
      (sum, exchange) => sum + [...bench.venue(exchange).requests.values()].reduce((a, b) => a + b, 0),
      0,
    )
    const one = { minute: (at - seam) / MINUTE_MS, heapBytes: process.memoryUsage().heapUsed, bars, requests }
    samples.push(one)
    options.onSample?.(one)
    nextSample = at + every
  }

  const ending = new AbortController()
  const follow = async (): Promise<void> => {
    for await (const batch of bench.feed.batches({ series, signal: ending.signal })) {
      for (const bar of batch.bars) {
        const name = seriesName(bar.series)
        const before = newest.get(name)
        const expected =
          before === undefined ? bar.candle.openTime : before + timeframeMs(bar.series.timeframe)
        if (bar.candle.openTime !== expected) broken.add(name)
        newest.set(name, bar.candle.openTime)
      }
      bars += batch.bars.length
      if (batch.isLate === true) lateBars += batch.bars.length
      else if (batch.at >= nextSample) sample(batch.at)
      if (batch.at >= seam + minutes * MINUTE_MS) break
    }
  }
  await bench.clock.runUntil(follow())
  ending.abort()
  return { samples, broken: [...broken], lateBars, faults }
}

/**
 * How much the heap grew in the second half of a run, as a part of its size: the first half fills caches.
 *
 * @example growthOf([…]) // 0.01 is one hundredth more at the end than in the middle
 */
export function growthOf(samples: readonly SoakSample[]): number {
  const half = samples.slice(Math.floor(samples.length / 2))
  const third = Math.max(1, Math.floor(half.length / 3))
  const middle = (some: readonly SoakSample[]): number =>
    some.map(({ heapBytes }) => heapBytes).toSorted((a, b) => a - b)[Math.floor(some.length / 2)] ?? 0
  const begin = middle(half.slice(0, third))
  return begin === 0 ? 0 : middle(half.slice(-third)) / begin - 1
}

/** Minutes of market time in some hours. */
export const minutesOf = (hours: number): number => Math.round((hours * HOUR_MS) / MINUTE_MS)
