import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Candle } from '../contracts/candle.ts'
import { CELL } from '../services/engine/cells.ts'
import { updateIndicators } from '../services/engine/indicators/update-indicators.ts'
import { randomWalk } from '../testing/random-walk.ts'
import { type Candidate, measure, print, report, timed } from './support/measure.ts'

/**
 * Bars per second through the same indicators, one bar at a time: ours beside two libraries. RSI14, EMA 9, 21,
 * 50 and 200, MACD, ADX14, ATR14 and ATR50, Bollinger bands of 20 bars, deviation of the last 50 log returns.
 *
 * node bench/indicators.bench.ts          (the libraries need: npm ci --prefix bench/peers)
 */
const ROUNDS = 5
const BARS = 20_000
const OURS = 'own, incremental'

const bars = randomWalk(7, BARS)

/** One bar further; answers some of the values, so that a peer can be seen to compute the same. */
type Advance = (bar: Candle) => void
interface Indicators {
  readonly advance: Advance
  values(): Readonly<Record<string, number>>
}

function own(): Indicators {
  const cells = new Float64Array(CELL.features)
  let count = 0
  return {
    advance: (bar) => updateIndicators(cells, 0, ++count, bar),
    values: () => ({
      rsi14: cells[CELL.rsi14] ?? Number.NaN,
      ema200: cells[CELL.ema200] ?? Number.NaN,
      macd: cells[CELL.macd] ?? Number.NaN,
      adx14: cells[CELL.adx14] ?? Number.NaN,
      atr14: cells[CELL.atr14] ?? Number.NaN,
      bollingerDeviation: cells[CELL.bollingerDeviation] ?? Number.NaN,
    }),
  }
}

type Stream<Input, Output> = { update(input: Input, replace: boolean): Output }
type Range = Pick<Candle, 'high' | 'low' | 'close'>
type Bands = { readonly middle: number; readonly upper: number } | null

/** The used part of the library; it is not a dependency of the service, so its types are not there. */
interface TradingSignals {
  readonly EMA: new (interval: number) => Stream<number, number>
  readonly RSI: new (interval: number) => Stream<number, number | null>
  readonly ADX: new (interval: number) => Stream<Range, number | null>
  readonly ATR: new (interval: number) => Stream<Range, number | null>
  readonly BollingerBands: new (interval: number, deviations: number) => Stream<number, Bands>
  readonly MACD: new (
    short: unknown,
    long: unknown,
    signal: unknown,
  ) => Stream<number, { readonly macd: number } | null>
}

function tradingSignals(library: TradingSignals): Indicators {
  const { EMA, RSI, ADX, ATR, BollingerBands, MACD } = library
  const averages = [9, 21, 50].map((interval) => new EMA(interval))
  const [ema200, rsi, adx] = [new EMA(200), new RSI(14), new ADX(14)]
  const [atr14, atr50] = [new ATR(14), new ATR(50)]
  const macd = new MACD(new EMA(12), new EMA(26), new EMA(9))
  const [bands, returns] = [new BollingerBands(20, 2), new BollingerBands(50, 1)]
  let previous: number | undefined
  const last: Record<string, number> = {}
  return {
    advance(bar) {
      const { close } = bar
      for (const average of averages) average.update(close, false)
      last.ema200 = ema200.update(close, false)
      last.rsi14 = rsi.update(close, false) ?? Number.NaN
      last.macd = macd.update(close, false)?.macd ?? Number.NaN
      last.adx14 = adx.update(bar, false) ?? Number.NaN
      last.atr14 = atr14.update(bar, false) ?? Number.NaN
      atr50.update(bar, false)
      const band = bands.update(close, false)
      last.bollingerDeviation = band === null ? Number.NaN : (band.upper - band.middle) / 2
      if (previous !== undefined) returns.update(Math.log(close / previous), false)
      previous = close
    },
    values: () => last,
  }
}

type Next<Input, Output> = { nextValue(input: Input): Output | undefined }
type Making<Input, Output> = new (input: Readonly<Record<string, unknown>>) => Next<Input, Output>

interface TechnicalIndicators {
  readonly EMA: Making<number, number>
  readonly RSI: Making<number, number>
  readonly MACD: Making<number, { readonly MACD?: number }>
  readonly ADX: Making<Range, { readonly adx: number }>
  readonly ATR: Making<Range, number>
  readonly BollingerBands: Making<number, { readonly middle: number; readonly upper: number }>
  readonly SD: Making<number, number>
}

function technicalIndicators(library: TechnicalIndicators): Indicators {
  const { EMA, RSI, MACD, ADX, ATR, BollingerBands, SD } = library
  const ofRange = { high: [], low: [], close: [] }
  const averages = [9, 21, 50].map((period) => new EMA({ period, values: [] }))
  const ema200 = new EMA({ period: 200, values: [] })
  const rsi = new RSI({ period: 14, values: [] })
  const macd = new MACD({
    values: [],
    fastPeriod: 12,
    slowPeriod: 26,
    signalPeriod: 9,
    SimpleMAOscillator: false,
    SimpleMASignal: false,
  })
  const adx = new ADX({ period: 14, ...ofRange })
  const [atr14, atr50] = [new ATR({ period: 14, ...ofRange }), new ATR({ period: 50, ...ofRange })]
  const bands = new BollingerBands({ period: 20, stdDev: 2, values: [] })
  const returns = new SD({ period: 50, values: [] })
  let previous: number | undefined
  const last: Record<string, number> = {}
  return {
    advance(bar) {
      const { close } = bar
      for (const average of averages) average.nextValue(close)
      last.ema200 = ema200.nextValue(close) ?? Number.NaN
      last.rsi14 = rsi.nextValue(close) ?? Number.NaN
      last.macd = macd.nextValue(close)?.MACD ?? Number.NaN
      last.adx14 = adx.nextValue(bar)?.adx ?? Number.NaN
      last.atr14 = atr14.nextValue(bar) ?? Number.NaN
      atr50.nextValue(bar)
      const band = bands.nextValue(close)
      last.bollingerDeviation = band === undefined ? Number.NaN : (band.upper - band.middle) / 2
      if (previous !== undefined) returns.nextValue(Math.log(close / previous))
      previous = close
    },
    values: () => last,
  }
}

const candidate = (name: string, make: () => Indicators): Candidate => ({
  name,
  async round() {
    const { advance } = make()
    const milliseconds = await timed(() => {
      for (const bar of bars) advance(bar)
    })
    return { units: bars.length, milliseconds }
  },
})

/** Largest relative difference of a peer's last values from ours, and in which of them. */
function difference(make: () => Indicators): string {
  const [ours, theirs] = [own(), make()]
  for (const bar of bars) {
    ours.advance(bar)
    theirs.advance(bar)
  }
  const mine = ours.values()
  const apart = Object.entries(theirs.values()).map(([name, value]) => ({
    name,
    by: Math.abs(value / (mine[name] ?? Number.NaN) - 1),
  }))
  const worst = apart.toSorted((a, b) => b.by - a.by)[0]
  return worst === undefined ? 'nothing to compare' : `${worst.by.toExponential(1)} (${worst.name})`
}

const PEERS = join(import.meta.dirname, 'peers/node_modules')
const load = (name: string): unknown => createRequire(join(PEERS, 'index.js'))(name)

const peers: [string, () => Indicators][] = []
if (existsSync(join(PEERS, 'trading-signals'))) {
  const signals = load('trading-signals') as TradingSignals
  const technical = load('technicalindicators') as TechnicalIndicators
  peers.push(['trading-signals', () => tradingSignals(signals)])
  peers.push(['technicalindicators', () => technicalIndicators(technical)])
} else {
  print('The peers are not installed, so nothing to compare with: npm ci --prefix bench/peers')
}

const measured = await measure(
  [candidate(OURS, own), ...peers.map(([name, make]) => candidate(name, make))],
  ROUNDS,
)
report('indicators, one series, bar by bar', 'bars/s', measured, peers[0]?.[0] ?? OURS)
for (const [name, make] of peers)
  print(`  largest difference of ${name} after ${BARS} bars: ${difference(make)}`)
