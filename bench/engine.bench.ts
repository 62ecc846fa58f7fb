import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Candle } from '../contracts/candle.ts'
import { LIMITS } from '../contracts/limits.ts'
import { HOUR_MS } from '../contracts/timeframes.ts'
import { createEngine, loadModel } from '../services/engine/index.ts'
import { createSeriesPool } from '../services/engine/series-pool.ts'

/**
 * What a verdict costs, and what a series costs. Runs alone: node bench/engine.bench.ts
 *
 * Budgets: at least 1,000,000 numeric verdicts per second and core from warm state, at most 12 KB per series.
 */
const ROUNDS = 7
/** Few enough that their state stays in the processor's cache, and many enough that it does not. */
const CACHED_SERIES = 16
const UNCACHED_SERIES = 4_000
const UNIVERSE_SERIES = 60_000
const PUSHES_PER_ROUND = 400_000
const READS_PER_ROUND = 100_000
const WARM_BARS = LIMITS.warmUpBars + 100

const model = loadModel()

/** Seeded noise (mulberry32), so that every run does the same work. */
function noise(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A random walk of hourly bars. */
function walk(length: number): Candle[] {
  const random = noise(1)
  let price = 100
  return Array.from({ length }, (_, index) => {
    const open = price
    const close = open * (1 + 0.02 * (random() - 0.5))
    price = close
    const high = Math.max(open, close) * (1 + 0.005 * random())
    const low = Math.min(open, close) * (1 - 0.005 * random())
    return { openTime: index * HOUR_MS, open, high, low, close, volume: 1_000 * random() }
  })
}

const bars = walk(200_000)
const barAt = (index: number): Candle => {
  const bar = bars[index % bars.length]
  if (bar === undefined) throw new Error(`There is no bar ${index}; the walk is empty.`)
  return bar
}

const grouped = (value: number): string => Math.round(value).toLocaleString('en')

function report(what: string, unit: string, rounds: readonly number[]): void {
  const sorted = rounds.toSorted((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const spread = `${grouped(sorted[0] ?? 0)}–${grouped(sorted.at(-1) ?? 0)}`
  process.stdout.write(
    `${what}: ${grouped(median)} ${unit} (median of ${rounds.length} rounds, spread ${spread})\n`,
  )
}

/** Work per second, in rounds. */
function perSecond(workPerRound: number, round: () => void): number[] {
  return Array.from({ length: ROUNDS }, () => {
    const begun = process.hrtime.bigint()
    round()
    return (workPerRound * 1e9) / Number(process.hrtime.bigint() - begun)
  })
}

/** Push of a bar with the whole numeric verdict: no hash, no object, no text. */
function numericRate(seriesCount: number, warmBars: number): number[] {
  const pool = createSeriesPool(model)
  const slots = Array.from({ length: seriesCount }, () => pool.open('1h'))
  let step = 0
  const sweep = (): void => {
    // Every series is at another place of the walk, so that their branches differ as in a real market.
    for (const slot of slots) pool.push(slot, barAt(step + slot * 97))
    step += 1
  }
  while (step < warmBars) sweep()
  const sweeps = Math.ceil(PUSHES_PER_ROUND / seriesCount)
  return perSecond(sweeps * seriesCount, () => {
    for (let done = 0; done < sweeps; done++) sweep()
  })
}

/** Push and read of one series: checks, hash chain, verdict object with factors and reasoning. */
function wholeRate(withRead: boolean): number[] {
  const engine = createEngine({ model })
  const slot = engine.open({ exchange: 'SIM', coin: 'BTC', timeframe: '1h' })
  let step = 0
  const advance = (): void => {
    engine.push(slot, { ...barAt(step), openTime: step * HOUR_MS })
    step += 1
  }
  while (step < WARM_BARS) advance()
  return perSecond(READS_PER_ROUND, () => {
    for (let done = 0; done < READS_PER_ROUND; done++) {
      advance()
      if (withRead) engine.read(slot)
    }
  })
}

/** Bytes per series of a universe, slabs with their unused room and heap together. */
function bytesPerSeries(): number[] {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  const used = (): number => {
    if (typeof collect === 'function') collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  return Array.from({ length: 5 }, () => {
    const before = used()
    const engine = createEngine({ model })
    for (let index = 0; index < UNIVERSE_SERIES; index++) {
      const slot = engine.open({ exchange: 'SIM', coin: `C${index}`, timeframe: '1h' })
      engine.push(slot, barAt(index))
    }
    const bytes = (used() - before) / engine.seriesCount
    return bytes
  })
}

report(
  `verdict, numeric, ${CACHED_SERIES} series in cache`,
  'per second',
  numericRate(CACHED_SERIES, LIMITS.volatilityBars + 100),
)
report(
  `verdict, numeric, ${grouped(UNCACHED_SERIES)} series out of cache`,
  'per second',
  numericRate(UNCACHED_SERIES, WARM_BARS),
)
report('verdict, numeric with input checks and hash chain', 'per second', wholeRate(false))
report('verdict, whole: hash chain, object, factors, reasoning', 'per second', wholeRate(true))
report(`memory, ${grouped(UNIVERSE_SERIES)} series`, 'bytes per series', bytesPerSeries())
