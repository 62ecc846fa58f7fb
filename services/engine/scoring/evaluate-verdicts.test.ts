import { describe, expect, test } from 'vitest'
import type { RaceOutcome } from '../../../contracts/outcome.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import type { Call } from '../../../contracts/verdict.ts'
import { seededRandom } from '../../../testing/random-walk.ts'
import { columnsOf, rollOutcomes, type ScoredCall } from './call-columns.ts'
import { evaluateCloses, evaluateVerdicts } from './evaluate-verdicts.ts'
import { formatCloses, formatEvaluation } from './format-evaluation.ts'

const START = Date.UTC(2024, 0, 1)
const BARRIER = 0.01

const scored = (hour: number, call: Call, race: RaceOutcome, more: Partial<ScoredCall> = {}): ScoredCall => ({
  exchange: 'SIM',
  coin: 'BTC',
  timeframe: '1h',
  barClose: START + hour * HOUR_MS,
  call,
  probability: call === 'BUY' ? 0.55 : call === 'SELL' ? 0.45 : 0.5,
  barrier: BARRIER,
  race,
  entryPrice: 100,
  exitPrice: race === 'up' ? 101 : race === 'down' ? 99 : race === 'timeout' ? 100 : null,
  ...more,
})

const scoresOf = (calls: readonly ScoredCall[]) =>
  evaluateVerdicts(calls).timeframes[0]?.all ?? expect.fail('Nothing was scored.')

describe('races that are counted', () => {
  test('do not overlap: the next one starts when the window of the last is over', () => {
    const calls = [0, 1, 7, 8, 9, 15, 16].map((hour) => scored(hour, 'BUY', 'up'))
    expect(scoresOf(calls).winRates?.races).toBe(3)
  })

  test('of two series do not stand in each other’s way', () => {
    const calls = [0, 1].flatMap((hour) => [
      scored(hour, 'BUY', 'up'),
      scored(hour, 'BUY', 'up', { coin: 'ETH' }),
    ])
    expect(scoresOf(calls).winRates?.races).toBe(2)
  })

  test('are those that were called: a HOLD occupies nothing', () => {
    const calls = [scored(0, 'HOLD', 'up'), scored(1, 'SELL', 'down'), scored(2, 'BUY', 'up')]
    expect(scoresOf(calls).winRates).toMatchObject({
      races: 1,
      called: { value: 1 },
      alwaysBuy: { value: 0 },
    })
  })

  test('a time-out fills its window and is not in the win rate; a touch of both is lost for everyone', () => {
    const calls = [
      scored(0, 'BUY', 'timeout'),
      scored(4, 'BUY', 'up'),
      scored(8, 'BUY', 'both'),
      scored(16, 'SELL', 'down'),
    ]
    const { winRates, races, timeoutShare } = scoresOf(calls)
    expect(winRates).toMatchObject({
      races: 2,
      called: { value: 0.5 },
      alwaysBuy: { value: 0 },
      alwaysSell: { value: 0.5 },
      random: { value: 0.25 },
    })
    expect(races).toEqual({ up: 1, down: 1, both: 1, timeout: 1, incomplete: 0 })
    expect(timeoutShare).toBe(0.25)
  })
})

describe('every call by its exit', () => {
  const calls = [
    scored(0, 'BUY', 'up'),
    scored(8, 'SELL', 'up'),
    scored(16, 'BUY', 'timeout', { exitPrice: 100.5 }),
    scored(24, 'SELL', 'both'),
    scored(32, 'BUY', 'timeout', { exitPrice: 99.8 }),
    scored(40, 'BUY', 'incomplete', { exitPrice: null }),
  ]
  const { everyCall } = scoresOf(calls)

  test('counts time-outs at the price that their window closed at, and costs with every trade', () => {
    expect(everyCall).toMatchObject({ trades: 5, timeoutShare: 0.4 })
    expect(everyCall?.called.inFavour.value).toBeCloseTo(2 / 5, 12)
    expect(everyCall?.called.gross.value).toBeCloseTo((100 - 100 + 50 - 100 - 20) / 5, 9)
    expect(everyCall?.called.net.value).toBeCloseTo((100 - 100 + 50 - 100 - 20) / 5 - 12, 9)
  })

  test('stands beside what the constants and a coin made of the same bars', () => {
    expect(everyCall?.alwaysBuy.inFavour.value).toBeCloseTo(3 / 5, 12)
    expect(everyCall?.alwaysSell.inFavour.value).toBeCloseTo(1 / 5, 12)
    expect(everyCall?.random.inFavour.value).toBeCloseTo(2 / 5, 12)
    // Only where both barriers were touched does a coin lose before costs.
    expect(everyCall?.random.gross.value).toBeCloseTo(-100 / 5, 9)
  })
})

test('days are those with a verdict, and the newest 180 of them are scored alone', () => {
  const random = seededRandom(3)
  const at = (day: number, isRight: boolean): ScoredCall => {
    const isUp = random() < 0.5
    return scored(24 * day, isUp === isRight ? 'BUY' : 'SELL', isUp ? 'up' : 'down')
  }
  // Right for a year, then, after a hole of a year, wrong for 180 days.
  const days = [
    ...Array.from({ length: 365 }, (_, day) => at(day, true)),
    ...Array.from({ length: 180 }, (_, day) => at(730 + day, false)),
  ]
  const { observedDays, auc, newestAuc } = scoresOf(days)
  expect(observedDays).toBe(545)
  expect(auc?.value).toBeGreaterThan(0.6)
  expect(newestAuc?.value).toBe(0)
})

test('changes of the call are counted from bar to bar of a series, and not over a gap', () => {
  const calls = (['BUY', 'BUY', 'HOLD', 'SELL'] as const).map((call, hour) => scored(hour, call, 'up'))
  expect(scoresOf(calls).flipsPerDay).toBeCloseTo((2 * 24) / 3, 9)
  expect(scoresOf([scored(0, 'BUY', 'up'), scored(9, 'SELL', 'up')]).flipsPerDay).toBeNull()
})

describe('forecasts', () => {
  const random = seededRandom(5)
  /** Forecasts that are right about themselves. */
  const perfect = Array.from({ length: 40_000 }, (_, hour): ScoredCall => {
    const probability = 0.3 + 0.4 * random()
    const race = random() < probability ? 'up' : 'down'
    return scored(hour, probability >= 0.5 ? 'BUY' : 'SELL', race, { probability })
  })

  test('that are right about themselves are calibrated', () => {
    const { calibrationError, reliability, auc } = scoresOf(perfect)
    expect(calibrationError).toBeLessThan(0.01)
    expect(reliability).toHaveLength(10)
    expect(auc?.low).toBeGreaterThan(0.58)
  })

  test('that exaggerate are found out', () => {
    const bold = perfect.map((call) => ({ ...call, probability: 0.5 + 1.5 * (call.probability - 0.5) }))
    expect(scoresOf(bold).calibrationError).toBeGreaterThan(0.04)
  })

  test('lose all skill when outcomes are moved', () => {
    const { placeboAuc, placebo } =
      evaluateVerdicts(perfect).timeframes[0] ?? expect.fail('Nothing was scored.')
    expect(Math.abs((placeboAuc?.value ?? 0) - 0.5)).toBeLessThan(0.01)
    const rates = placebo?.winRates ?? expect.fail('The placebo called nothing.')
    expect(rates.called.low ?? 1).toBeLessThan(0.5)
    const [own] = columnsOf(perfect)
    const [moved] = rollOutcomes(columnsOf(perfect))
    expect(moved?.race).not.toEqual(own?.race)
    expect(moved?.race.toSorted()).toEqual(own?.race.toSorted())
  })

  test('all alike make one bin, and one side alone no AUC', () => {
    const same = Array.from({ length: 50 }, (_, hour) => scored(hour, 'HOLD', 'up'))
    expect(scoresOf(same).reliability).toEqual([{ from: 0.5, to: 0.5, races: 50, said: 0.5, happened: 1 }])
    expect(scoresOf(same).auc).toBeNull()
    expect(scoresOf(same).winRates).toBeNull()
  })
})

test('is split by timeframe and series, in their order', () => {
  const calls = [
    scored(3, 'BUY', 'up', { timeframe: '4h' }),
    scored(1, 'BUY', 'up', { coin: 'ETH' }),
    scored(0, 'BUY', 'up'),
  ]
  const { timeframes } = evaluateVerdicts(calls)
  expect(timeframes.map(({ timeframe, series }) => [timeframe, series.map(({ coin }) => coin)])).toEqual([
    ['1h', ['BTC', 'ETH']],
    ['4h', ['BTC']],
  ])
})

test('reads as lines, and says what is unknown', () => {
  const lines = formatEvaluation(evaluateVerdicts([scored(0, 'BUY', 'up'), scored(8, 'SELL', 'up')]))
  expect(lines[0]).toBe('1h, all 1 series: 2 verdicts, 2024-01-01 to 2024-01-01')
  const text = lines.join('\n')
  expect(text).toContain('barrier wins         1 of 2 non-overlapping races\n')
  expect(text).toContain('on the same bars     always BUY 2 of 2, always SELL 0 of 2, random 1 of 2\n')
  expect(text).toContain('spoken               2 of 2 verdicts, SELL among them 1 of 2\n')
  expect(text).toMatch(/every call by exit +2 calls apart, timed out 0 of 2\n +as called +1 of 2 in favour; /)
  expect(text).not.toMatch(/\d %/)
  const many = Array.from({ length: 100 }, (_, n) => scored(8 * n, 'BUY', n % 4 === 0 ? 'down' : 'up'))
  expect(formatEvaluation(evaluateVerdicts(many)).join('\n')).toMatch(
    /barrier wins +75.0 \[65.7, 82.5\] % of 100 non-overlapping races; by blocks of time 75.0 \[.+\] %\n/,
  )
  expect(lines.join('\n')).toContain('AUC                  unknown')
  expect(evaluateVerdicts([])).toEqual({ timeframes: [] })
  const same = Array.from({ length: 9 }, (_, hour) => scored(hour, 'HOLD', hour % 2 === 0 ? 'up' : 'down'))
  // Their AUC of a half would be read as a measurement.
  expect(formatEvaluation(evaluateVerdicts(same)).join('\n')).toContain('none: all forecasts are 0.500')
})

describe('forecasts that a window closes higher', () => {
  const random = seededRandom(5)
  const calls = Array.from({ length: 2_000 }, (_, hour) => {
    const closesHigher = 0.3 + 0.4 * random()
    const closePrice = random() < closesHigher ? 101 : 99
    return scored(hour, 'BUY', 'timeout', { probability: 0.9, closesHigher, closePrice })
  })

  test('are scored by the side that windows closed on, and by nothing of the call', () => {
    const [first, ...others] = evaluateCloses(calls)
    expect(others).toEqual([])
    expect(first).toMatchObject({ timeframe: '1h', windows: 2_000 })
    expect(first?.auc?.low).toBeGreaterThan(0.55)
    expect(first?.brier?.value).toBeLessThan(0.245)
    expect(first?.calibrationError).toBeLessThan(0.05)
    expect(formatCloses(evaluateCloses(calls))).toEqual([
      expect.stringMatching(
        /^ {2}1h, closes higher {4}2,000 windows; AUC 0\.\d{4} \[.*\], Brier 0\.\d{5} \[.*\], calibration error 0\.\d{4}$/,
      ),
    ])
  })

  test('are of whole windows that closed on a side of the entry, where there is such a forecast', () => {
    const left = [
      scored(0, 'BUY', 'up'),
      scored(1, 'BUY', 'up', { closesHigher: 0.6, closePrice: null }),
      scored(2, 'BUY', 'up', { closesHigher: 0.6, closePrice: 100 }),
      scored(3, 'BUY', 'incomplete', { closesHigher: 0.6, closePrice: 101, entryPrice: null }),
    ]
    expect(evaluateCloses(left)).toEqual([])
    expect(evaluateCloses([...left, ...calls])[0]?.windows).toBe(2_000)
  })
})
