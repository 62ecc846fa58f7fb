import { describe, expect, test } from 'vitest'
import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import type { RangeModelData } from '../../../services/engine/forecast/range-model.ts'
import type { VerdictModel } from '../../../services/engine/model.ts'
import { modelPage } from './model-page.ts'

const byExit = (inFavour: number, gross: number) => ({
  inFavour: { value: inFavour, low: inFavour - 0.01, high: inFavour + 0.01 },
  gross: { value: gross, low: gross - 4.74, high: gross + 4.74, t: 3 },
  net: { value: gross - 12, low: gross - 16.74, high: gross - 7.26, t: -1.77 },
})

const measured = {
  verdicts: 40_000,
  from: Date.UTC(2021, 3, 1),
  to: Date.UTC(2025, 0, 1),
  observedDays: 1_371,
  races: { up: 6_000, down: 6_345, both: 5 },
  timeoutShare: 0.4567,
  auc: { value: 0.54321, low: 0.531, high: 0.555 },
  newestAuc: { value: 0.521, low: 0.49, high: 0.552 },
  newestYearAuc: { value: 0.525, low: 0.505, high: 0.545 },
  brier: { value: 0.24871, low: null, high: null },
  brierSpoken: { value: 0.24731, low: 0.246, high: 0.249 },
  calibrationError: 0.0123,
  reliability: [{ from: 0.4, to: 0.45, races: 1_234, said: 0.43, happened: 0.41 }],
  spoken: 10_000,
  sellShare: 0.375,
  winRates: {
    races: 2_345,
    called: { value: 0.541, low: 0.53, high: 0.552 },
    calledByBlocks: { value: 0.541, low: 0.52, high: 0.562 },
    alwaysBuy: { value: 0.49, low: 0.48, high: 0.5 },
    alwaysSell: { value: 0.51, low: 0.5, high: 0.52 },
    random: { value: 0.5, low: 0.49, high: 0.51 },
  },
  everyCall: {
    trades: 5_000,
    timeoutShare: 0.471,
    called: byExit(0.487, 7.74),
    alwaysBuy: byExit(0.49, 1),
    alwaysSell: byExit(0.5, -1),
    random: byExit(0.495, 0),
  },
  flipsPerDay: 1.634,
  placeboAuc: { value: 0.501, low: 0.49, high: 0.512 },
  chosenAuc: { value: 0.551, low: null, high: null },
  untouchedAuc: { value: 0.512, low: 0.499, high: 0.525 },
  closedAsCalled: { value: 0.476, low: 0.466, high: 0.486 },
} as const
const speaking = {
  skill: true,
  scales: [0.25, 0.3],
  coefficients: [0.034662, -0.1],
  races: 98_765,
  slope: 0.9,
  offset: 0,
  measured,
} as const
const rate = (value: number) => ({ value, low: value - 0.01, high: value + 0.01 })
const silent = { skill: false, reason: 'no race was ever run' } as const

const model = {
  version: 'test-7',
  provenance: {
    recipe: {
      sources: {
        ...Object.fromEntries(TIMEFRAMES.map((timeframe) => [timeframe, [timeframe]])),
        '4h': ['1h', '4h'],
      },
      ridgePerRace: 0.06,
      mostRaces: 250_000,
      firstTrainingShare: 0.4,
      firstTrainingDays: 570,
      refitDays: 91,
      fewestRefits: 8,
      fewestRaces: 3_000,
      chosenUntil: Date.UTC(2025, 6, 1),
    },
    label: { deviationBars: 50, floor: 0.003 },
    from: Date.UTC(2019, 8, 8),
    to: Date.UTC(2026, 0, 1),
    series: [
      {
        exchange: 'BINANCE',
        coin: 'BTC',
        timeframe: '1h',
        market: 'perpetual',
        from: Date.UTC(2019, 8, 8),
        to: Date.UTC(2026, 0, 1),
        bars: 55_351,
        sha256: '0123456789abcdef'.repeat(4),
      },
    ],
  },
  clip: 3,
  names: ['momentum_24', 'price_to_ema50'],
  timeframes: {
    ...Object.fromEntries(TIMEFRAMES.map((timeframe) => [timeframe, silent])),
    '1h': { ...speaking, closes: { ...speaking, coefficients: [-0.02, 0.1], slope: 0.7 } },
    '2h': { ...silent, measured },
    '4h': { ...speaking, closes: { ...silent, reason: 'no close was ever scored' } },
  },
  gate: {
    '1h': {
      walkedAuc: 0.53,
      coins: [
        { coin: 'BTC', observedDays: 500, races: 9_000, auc: { value: 0.55, low: 0.53, high: 0.57 } },
        {
          coin: 'LTC',
          observedDays: 500,
          races: 9_000,
          auc: { value: 0.51, low: 0.49, high: 0.53 },
          silence: 'no skill was shown for LTC at 1h',
        },
      ],
      confidences: [
        { from: 50, to: 53, calls: 4_990, won: rate(0.53), inFavour: rate(0.48), gross: rate(7) },
        { from: 58, to: 60, calls: 10, won: rate(0.9), inFavour: rate(0.9), gross: rate(90) },
      ],
    },
  },
} as unknown as VerdictModel

const rangeScores = {
  from: Date.UTC(2021, 3, 1),
  to: Date.UTC(2025, 0, 1),
  forecasts: 737_587,
  coverage80: 0.8004,
  coverage50: 0.4913,
  belowConstant: 0.112,
  belowCoinConstant: 0.096,
  belowEwma: 0.0251,
  cells: 105,
  cellsOutside: ['NEAR 2020: 72 %'],
  coinYears: { all: 105, within: 99 },
  fifths: [0.791, 0.801, 0.802, 0.803, 0.811],
  hours: [0.79, 0.8, 0.81, 0, 0, 0],
  extent: {
    r2: { own: 0.567, ewma: 0.493, har: 0.568 },
    qlike: { own: 0.375, ewma: 0.4, har: 0.342 },
    r2AboveHar: { value: -0.001, low: -0.003, high: 0.001 },
    qlikeBelowHar: { value: -0.096, low: -0.12, high: -0.072 },
  },
}
const ranges = {
  version: 'reach-3',
  provenance: { series: [{}, {}] },
  timeframes: Object.fromEntries(TIMEFRAMES.map((timeframe) => [timeframe, { measured: rangeScores }])),
} as unknown as RangeModelData

describe('the page of the model', () => {
  const page = modelPage(model, ranges).join('\n\n')

  test('says which model it is, where it calls and where its numbers come from', () => {
    expect(page).toContain('`test-7`. It makes calls at 1h, 4h and answers HOLD at 1m,')
    expect(page).toContain('From 1 recordings of 1 coins, 2019-09-08 to 2026-01-01')
    expect(page).toContain('by its own races; 4h by those of 1h, 4h in equal parts')
  })

  test('has a row for every timeframe, with the scores that were measured', () => {
    const scores =
      '2021-04-01 | 2025-01-01 | 1,371 | 12,345 | 45.7 % | 0.543 [0.531, 0.555] | 0.551 | 0.512 [0.499, 0.525] | 0.521 [0.490, 0.552] | 0.525 [0.505, 0.545] | 0.501 [0.490, 0.512] | 0.2487 | 0.2473 [0.2460, 0.2490] | 0.012'
    expect(page).toContain(`| 1h | 8 | ${scores} | 0.9 | BUY, SELL, HOLD; *unconfirmed* |`)
    expect(page).toContain(`| 2h | 8 | ${scores} |  | HOLD only |`)
    expect(page).toContain('| 12h | 5 |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  | HOLD only |')
    for (const timeframe of TIMEFRAMES) expect(page).toContain(`\n| ${timeframe} |`)
    expect(page).toContain('- 12h answers HOLD because no race was ever run.')
    expect(page).not.toContain('- 1h answers HOLD')
  })

  test('sets the wins and the exits of every call beside those of the constants and a coin', () => {
    expect(page).toContain('| 1h | 25.0 % | 37.5 % | 2,345 | 54.1 [52.0, 56.2] | 49.0 | 51.0 | 50.0 | 1.63 |')
    expect(page).toContain(
      '| 1h | 5,000 | 47.1 % | 48.7 [47.7, 49.7] | 49.0 | 50.0 | 49.5 | 7.7 [3.0, 12.5] | 1.0 | -1.0 | 0.0 | -4.3 [-9.0, 0.5] | -1.8 |',
    )
  })

  test('tells coins apart, and calls by their confidence where there are a hundred', () => {
    expect(page).toContain('| Coin | 1h |')
    expect(page).toContain('| BTC | 0.550 [0.530, 0.570] |')
    expect(page).toContain('| LTC | 0.510 [0.490, 0.530] HOLD only |')
    expect(page).toContain('| 50–53 | 4,990: 53.0 / 48.0; 7.0 [7.0, 7.0] |')
    expect(page).toContain('| 58–60 |  |')
  })

  test('says how surely and how soon a model without skill falls silent', () => {
    expect(page).toMatch(/\| 1h \| 730 \| 0\.00\d\d \| \d+ % \| \d+ % \| \d+ \|/)
  })

  test('says how often windows close as called, and how good the forecasts of that are', () => {
    expect(page).toContain(
      '| Timeframe | Closed as called, % | AUC before 2025-07-01 | AUC from 2025-07-01 |',
    )
    expect(page).toContain(
      '| 1h | 47.6 [46.6, 48.6] | 0.551 | 0.512 [0.499, 0.525] | 0.501 [0.490, 0.512] | 0.2473 [0.2460, 0.2490] | 0.012 | 0.7 | yes; *unconfirmed* |',
    )
    expect(page).toContain('|  | no: no close was ever scored |')
    expect(page).toContain('| `momentum_24` | -0.02 (0.25) |')
    const races = { ...model, timeframes: { ...model.timeframes, '1h': speaking, '4h': speaking } }
    expect(modelPage(races as unknown as VerdictModel, ranges).join('\n')).not.toContain('close higher?')
  })

  test('says how far prices may go, with what was measured of it', () => {
    expect(page).toContain('Both are computed by the model `reach-3`, of 2 recordings.')
    expect(page).toContain(
      '| 1h | 2021-04-01 | 2025-01-01 | 737,587 | 80.0 | 49.1 | 11.2 | 9.6 | 2.5 | 99 of 105 | 1 of 105: NEAR 2020: 72 % |',
    )
    expect(page).toContain('| 1h | 79.1 | 80.1 | 80.2 | 80.3 | 81.1 | 79.0 | 80.0 | 81.0 |  |  |  |')
    expect(page).toContain(
      '| 1h | 0.567 | 0.493 | 0.568 | -0.001 [-0.003, 0.001] | 0.375 | 0.400 | 0.342 | -9.6 [-12.0, -7.2] |',
    )
    expect(page).not.toContain('scored once')
  })

  test('shows how far forecasts can be trusted, and the data with its checksums', () => {
    expect(page).toContain('| 0.400–0.450 | 1,234 | 0.430 | 0.410 |')
    expect(page).toContain(
      '| BINANCE | BTC | perpetual | 1h | 2019-09-08 | 2026-01-01 | 55,351 | `0123456789abcdef` |',
    )
  })

  test('has a row for every factor, with the parameters as the model was written', () => {
    expect(page).toContain('| `momentum_24` | log return over 24 bars / (realised volatility × √24) |')
    expect(page).toContain('| `momentum_24` | 0.034662 (0.25) | 0.034662 (0.25) |')
    expect(page).toContain('| `price_to_ema50` | -0.1 (0.3) | -0.1 (0.3) |')
    expect(page).toContain('| slope | 0.9 | 0.9 |')
  })

  test('is not made while the meaning of a factor is missing', () => {
    const unknown = { ...model, names: ['moon_phase', 'price_to_ema50'] } as unknown as VerdictModel
    expect(() => modelPage(unknown, ranges)).toThrow('moon_phase has no meaning')
  })
})
