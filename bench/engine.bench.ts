import { setTimeout as pause } from 'node:timers/promises'
import type { Candle } from '../contracts/domain/candle.ts'
import { HOUR_MS, TIMEFRAMES } from '../contracts/domain/timeframes.ts'
import { LIMITS } from '../contracts/limits.ts'
import { type Engine, loadModel, SeriesEngine } from '../services/engine/index.ts'
import { SeriesState } from '../services/engine/series/series-state.ts'
import { randomWalk } from '../testing/random-walk.ts'
import { bytesInUse, print, summarise } from './support/measure.ts'

/**
 * Cost of a verdict and of a series. Runs alone: node bench/engine.bench.ts
 *
 * Budgets: at least 1,000,000 numeric verdicts per second and core from warm state, at most 12 KB per series.
 */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 7)
const MEMORY_ROUNDS = Math.min(5, ROUNDS)
const SETTLE_MS = 300
/** Few enough that their state stays in the processor's cache, and many enough that it does not. */
const CACHED_SERIES = 16
const UNCACHED_SERIES = Math.min(4_000, Number(process.env.BENCH_SERIES ?? 4_000))
const UNIVERSE_SERIES = Number(process.env.BENCH_SERIES ?? 60_000)
const PUSHES_PER_ROUND = Number(process.env.BENCH_PUSHES ?? 400_000)
const READS_PER_ROUND = PUSHES_PER_ROUND / 4
const WARM_BARS = LIMITS.warmUpBars + 100

const model = loadModel()

/** Small enough to stay in the cache: bars fresh from a feed are. */
const bars = randomWalk(1, 8_192)
const barAt = (index: number): Candle => {
  const bar = bars[index % bars.length]
  if (bar === undefined) throw new Error(`There is no bar ${index}; the walk is empty.`)
  return bar
}

const grouped = (value: number): string => Math.round(value).toLocaleString('en')

function report(what: string, unit: string, rounds: readonly number[]): void {
  const { median, low, high } = summarise(what, rounds)
  print(
    `${what}: ${grouped(median)} ${unit} (median of ${rounds.length} rounds, spread ${grouped(low)}–${grouped(high)})`,
  )
}

/** Work per second of processor time, in rounds: what a core does when nobody else wants it. */
function perCoreSecond(workPerRound: number, round: () => void): number[] {
  return Array.from({ length: ROUNDS }, () => {
    const begun = process.cpuUsage()
    round()
    const { user, system } = process.cpuUsage(begun)
    return (workPerRound * 1e6) / (user + system)
  })
}

/** Push of a bar with the whole numeric verdict: no hash, no object, no text. */
function numericRate(seriesCount: number, warmBars: number): number[] {
  const states = Array.from({ length: seriesCount }, () => new SeriesState(model, '1h'))
  let step = 0
  const sweep = (): void => {
    // Every series is at another place of the walk, so that their branches differ as in a real market.
    for (const [index, state] of states.entries()) state.push(barAt(step + index * 97))
    step += 1
  }
  for (let warmed = 0; warmed < warmBars; warmed++) sweep()
  const sweeps = Math.ceil(PUSHES_PER_ROUND / seriesCount)
  return perCoreSecond(sweeps * seriesCount, () => {
    for (let done = 0; done < sweeps; done++) sweep()
  })
}

/** Push and read of one series: checks, hash chain, verdict object with factors and reasoning. */
function wholeRate(withRead: boolean): number[] {
  const engine = new SeriesEngine({ model })
  const opened = engine.open({ exchange: 'SIM', coin: 'BTC', timeframe: '1h' })
  let step = 0
  const advance = (): void => {
    engine.push(opened, { ...barAt(step), openTime: step * HOUR_MS })
    step += 1
  }
  for (let warmed = 0; warmed < WARM_BARS; warmed++) advance()
  return perCoreSecond(READS_PER_ROUND, () => {
    for (let done = 0; done < READS_PER_ROUND; done++) {
      advance()
      if (withRead) engine.read(opened)
    }
  })
}

/** Bytes per series of a universe of series with a bar each: their state, and heap. */
async function bytesPerSeries(): Promise<number[]> {
  const used = async (): Promise<number> => {
    bytesInUse()
    // Freed memory is returned in the background.
    await pause(SETTLE_MS)
    return bytesInUse()
  }
  // A function of its own, so that nothing of a round is still referenced in the next.
  const round = async (): Promise<number> => {
    const before = await used()
    const engine = openUniverse()
    const after = await used()
    return (after - before) / engine.seriesCount
  }
  const rounds: number[] = []
  while (rounds.length < MEMORY_ROUNDS) rounds.push(await round())
  return rounds
}

function openUniverse(): Engine {
  const engine = new SeriesEngine({ model })
  for (let index = 0; index < UNIVERSE_SERIES; index++) {
    const timeframe = TIMEFRAMES[index % TIMEFRAMES.length] ?? '1h'
    const coin = `C${Math.floor(index / TIMEFRAMES.length)}`
    engine.push(engine.open({ exchange: 'SIM', coin, timeframe }), barAt(index))
  }
  return engine
}

report(
  `verdict, numeric, ${CACHED_SERIES} series in cache`,
  'per second and core',
  numericRate(CACHED_SERIES, LIMITS.volatilityBars + 100),
)
report(
  `verdict, numeric, ${grouped(UNCACHED_SERIES)} series out of cache`,
  'per second and core',
  numericRate(UNCACHED_SERIES, WARM_BARS),
)
report('verdict, numeric with input checks and hash chain', 'per second and core', wholeRate(false))
report('verdict, whole: hash chain, object, factors, reasoning', 'per second and core', wholeRate(true))
report(`memory, ${grouped(UNIVERSE_SERIES)} series`, 'bytes per series', await bytesPerSeries())
