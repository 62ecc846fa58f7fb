import { existsSync, readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { CALLING_TIMEFRAMES, TIMEFRAMES, type Timeframe } from '../../contracts/domain/timeframes.ts'
import { loadModel } from '../../services/engine/index.ts'
import { callsApart, recordOf } from './call-record.ts'
import { addSamples, emptySamples, simulatedSamples } from './command.ts'
import { addHours, fitDirection, fitRanges, hoursOf } from './fit.ts'
import { BAR_NUMBERS, COINS, historiesOf, readCandleFiles } from './histories.ts'
import { ALWAYS, CHOOSE_FROM, UNTOUCHED_FROM } from './periods.ts'
import { candleAt, Samples, sampleHistory } from './samples.ts'
import {
  type Coverage,
  coverages,
  coverageTable,
  directionTable,
  gateTable,
  reliabilityTable,
  togetherTable,
} from './tables.ts'

const FOLDERS = ['../shared/data', '../shared/data-intraday']
const missing = FOLDERS.every((folder) => existsSync(folder))
  ? ''
  : ` (skipped: no candles in ${FOLDERS.join(', ')})`
const MINUTES = 600_000
const model = loadModel()
const data = JSON.parse(
  readFileSync(new URL('../../services/engine/model/barrier-6.json', import.meta.url), 'utf8'),
) as { ranges: { weights: Record<string, number>; hours: object } }

const logOddsAfter = (timeframe: Timeframe, bars: Float64Array): Float64Array => {
  const samples = new Samples(timeframe)
  sampleHistory(samples, model, 0, bars)
  return Float64Array.from({ length: samples.count }, (_, place) => samples.at('logOdds', place))
}

/** Whether a coin says that a bar is mirrored, the same for all coins at one time. */
function isFlipped(time: number): boolean {
  let mixed = Math.floor(time / 60_000) >>> 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b)
  return (((mixed ^ (mixed >>> 16)) >>> 7) & 1) === 1
}

/** The same bars, each mirrored about the close before it if a coin says so: volatility stays, direction goes. */
function withoutDirection(bars: Float64Array): Float64Array {
  const drawn = Float64Array.from(bars)
  for (let at = BAR_NUMBERS; at < bars.length; at += BAR_NUMBERS) {
    const { openTime, ...bar } = candleAt(bars, at)
    const before = Math.log(candleAt(bars, at - BAR_NUMBERS).close)
    const level = Math.log(candleAt(drawn, at - BAR_NUMBERS).close)
    const turned = (price: number): number =>
      Math.exp(level + (isFlipped(openTime) ? -1 : 1) * (Math.log(price) - before))
    const [open, close] = [turned(bar.open), turned(bar.close)]
    const ends = [turned(bar.high), turned(bar.low), open, close]
    drawn.set([open, Math.max(...ends), Math.min(...ends), close], at + 1)
  }
  return drawn
}

describe.skipIf(missing !== '')(`the record of the model on candles${missing}`, () => {
  const all = emptySamples()
  const null1h = new Samples('1h')
  const sums = [new Float64Array(48), new Float64Array(48)] as const
  let simulated: ReadonlyMap<Timeframe, Samples>
  let coverage: Coverage[]
  const mirrored = new Map<string, Float64Array>()

  beforeAll(() => {
    for (const [index, coin] of COINS.entries()) {
      const files = readCandleFiles(FOLDERS, coin)
      addSamples(all, model, files, index)
      addHours(...sums, files)
      for (const bars of historiesOf(files, '1h')) sampleHistory(null1h, model, index, withoutDirection(bars))
      for (const [of, timeframe] of [
        ['BTC', '1h'],
        ['DOGE', '5m'],
        ['SUI', '15m'],
      ] as const)
        if (of === coin) {
          const longest = [...historiesOf(files, timeframe)].toSorted((a, b) => b.length - a.length)[0]
          mirrored.set(`${of} ${timeframe}`, (longest ?? new Float64Array()).slice(0, 20_000 * BAR_NUMBERS))
        }
    }
    simulated = simulatedSamples(model)
    coverage = coverages(all, model, simulated)
  }, MINUTES)

  test('is what docs/model.md shows, to the last digit', () => {
    const page = readFileSync('docs/model.md', 'utf8')
    expect(page.split('\n').length).toBeLessThanOrEqual(251)
    for (const table of [
      gateTable(all),
      togetherTable(all, model),
      directionTable(all, model, simulated),
      reliabilityTable(all, model),
      coverageTable(coverage),
    ])
      expect(page).toContain(table)
  })

  test('a fit finds the numbers that ship', () => {
    const [ema50 = 0, wick = 0] = fitDirection(all, model.direction)
    expect(Math.abs(ema50 - 0.1003)).toBeLessThan(0.0005)
    expect(Math.abs(wick + 0.0638)).toBeLessThan(0.0005)
    expect(hoursOf(...sums)).toEqual(data.ranges.hours)
    const { weights, timeframes } = fitRanges(all, UNTOUCHED_FROM)
    for (const [index, name] of ['v2', 'v8', 'm200'].entries())
      expect(Math.abs((weights[index] ?? 0) - (data.ranges.weights[name] ?? 0))).toBeLessThan(0.003)
    for (const timeframe of TIMEFRAMES)
      for (const name of ['inner', 'outer', 'deviation'] as const)
        expect(
          Math.abs((timeframes.get(timeframe)?.[name] ?? 0) - model.timeframes[timeframe][name]),
        ).toBeLessThan(0.003)
  })

  test('a timeframe calls if, and only if, it passes the test', () => {
    for (const row of gateTable(all).split('\n').slice(2)) {
      const cells = row.split('|').map((cell) => cell.trim())
      const [timeframe, verdict] = [cells[1] as Timeframe, cells.at(-2)]
      expect([timeframe, verdict]).toEqual([timeframe, model.timeframes[timeframe].calls ? 'calls' : 'HOLD'])
    }
  })

  test.each(CALLING_TIMEFRAMES)(
    'SELL is between 35 and 65 of 100 calls at %s in every period',
    (timeframe) => {
      const samples = all.get(timeframe) ?? expect.fail()
      const calls = samples.calls()
      for (const [from, to] of [
        [0, CHOOSE_FROM],
        [CHOOSE_FROM, UNTOUCHED_FROM],
        [UNTOUCHED_FROM, ALWAYS],
      ] as const) {
        const { sellShare } = recordOf(samples, calls, callsApart(samples, calls, from, to))
        expect(sellShare).toBeGreaterThan(0.35)
        expect(sellShare).toBeLessThan(0.65)
      }
    },
  )

  test('four of five windows end within the range, on untouched bars and on the simulated market', () => {
    const shares = (period: string, timeframes: readonly Timeframe[]): number[] =>
      coverage
        .filter((one) => one.period === period && timeframes.includes(one.timeframe))
        .map(({ of80 }) => of80.value)
    const untouched = shares('untouched (as it ships)', TIMEFRAMES.slice(1, -1))
    const drawn = shares('all', TIMEFRAMES.slice(2, -2))
    expect([untouched.length, drawn.length]).toEqual([9, 7])
    expect([Math.min(...untouched) > 0.78, Math.max(...untouched) < 0.83]).toEqual([true, true])
    expect([Math.min(...drawn) > 0.78, Math.max(...drawn) < 0.82]).toEqual([true, true])
  })

  test('calls win nothing over random sides where a coin decided the direction', () => {
    const calls = null1h.calls()
    const { overRandom, sellShare } = recordOf(null1h, calls, callsApart(null1h, calls, 0, ALWAYS))
    expect(overRandom.low).toBeLessThan(0)
    expect(overRandom.high).toBeGreaterThan(0)
    expect(Math.abs(sellShare - 0.5)).toBeLessThan(0.15)
  })

  test.each(['BTC 1h', 'DOGE 5m', 'SUI 15m'])(
    'the mirrored market has the mirrored score and call: %s',
    (name) => {
      const bars = mirrored.get(name) ?? expect.fail()
      const timeframe = name.split(' ')[1] as Timeframe
      const turned = Float64Array.from(bars)
      for (let at = 0; at < bars.length; at += BAR_NUMBERS) {
        const { open, high, low, close } = candleAt(bars, at)
        turned.set([1 / open, 1 / low, 1 / high, 1 / close], at + 1)
      }
      const [there, back] = [bars, turned].map((some) => logOddsAfter(timeframe, some))
      if (there === undefined || back === undefined || there.length !== back.length) expect.fail()
      const pairs = Array.from(there, (score, place) => [score, back[place] ?? 0] as const)
      const sure = pairs.filter(([score]) => Math.abs(score) > 0.02)
      expect(sure.every(([score, other]) => score * other < 0)).toBe(true)
      const near = pairs.filter(([score, other]) => Math.abs(score + other) < 0.015).length
      expect(near / pairs.length).toBeGreaterThan(0.95)
      const [ours, theirs] = [bars, turned].map((some) => {
        const samples = new Samples(timeframe)
        sampleHistory(samples, model, 0, some)
        return samples.calls()
      })
      if (ours === undefined || theirs === undefined) expect.fail()
      const calls = Array.from(ours.keys()).filter((place) => ours[place] !== 0)
      const same = calls.filter((place) => theirs[place] === -(ours[place] ?? 0)).length
      expect(same / calls.length).toBeGreaterThan(0.97)
    },
  )

  test('SELL is between 35 and 65 of 100 calls of a first start, whatever its market', () => {
    const firstBars = 305
    const coins = 6
    for (let seed = 0; seed < 6; seed++) {
      let [calls, sells] = [0, 0]
      for (const timeframe of ['5m', '15m', '30m', '1h', '2h'] as const) {
        const samples = simulated.get(timeframe) ?? expect.fail()
        const signs = samples.calls()
        const seen = new Map<number, number>()
        for (let place = 0; place < samples.count; place++) {
          const coin = samples.at('coin', place)
          const bar = seen.get(coin) ?? 0
          seen.set(coin, bar + 1)
          if (Math.floor(coin / coins) !== seed || bar >= firstBars || signs[place] === 0) continue
          calls += 1
          if ((signs[place] ?? 0) < 0) sells += 1
        }
      }
      expect(sells / calls).toBeGreaterThan(0.35)
      expect(sells / calls).toBeLessThan(0.65)
    }
  })
})
