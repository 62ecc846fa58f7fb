import { describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import type { Call } from '../../../contracts/verdict.ts'
import { type VerdictRow, verdictRow } from '../../../contracts/verdict-row.ts'
import { loadModel, type VerdictModel } from '../../engine/index.ts'
import type { BarOutcome, VerdictRequest } from '../kit/verdict-source.ts'
import { compare, NDJSON_LINES, TABLE_LINES, type WhatIfSummary } from './what-if.ts'

const START = Date.UTC(2035, 0, 1)
const RELEASED = loadModel()
/** Its log-odds are the place in the range, at most ± 1. */
const OTHER: VerdictModel = {
  ...RELEASED,
  version: 'other-1',
  clip: 1,
  names: ['range_position'],
  inverseScales: RELEASED.inverseScales.slice(0, 11).fill(1),
  weights: RELEASED.weights.slice(0, 11).fill(1),
  timeframes: {
    ...RELEASED.timeframes,
    '1h': { ...RELEASED.timeframes['1h'], skill: true, offset: 0 } as never,
  },
}
const BUY = 1 / (1 + Math.exp(-1))

const row = (bar: number, call: Call, value: number, change = {}): VerdictRow =>
  verdictRow(
    aVerdict({
      barClose: START + bar * HOUR_MS,
      call,
      probability: 0.54,
      factors: [{ name: 'range_position', value, contribution: 0.1, status: 'measured' }],
      ...change,
    }),
    String(bar),
    '',
  )
const ended = (bar: number, race: BarOutcome['race'], exitPrice: number): BarOutcome => ({
  barClose: START + bar * HOUR_MS,
  race,
  barrier: 0.01,
  entryPrice: 100,
  exitPrice,
})
const request: VerdictRequest = {
  filter: {},
  limit: 99,
  parameters: {},
  signal: new AbortController().signal,
}
const progress = { show: () => undefined, end: () => undefined }

async function written(rows: VerdictRow[], outcomes: BarOutcome[], lines = NDJSON_LINES): Promise<string> {
  const source = {
    description: 'the log',
    async *replay() {
      yield* rows
    },
    async *outcomes() {
      yield* outcomes.toReversed()
    },
  }
  let text = ''
  for await (const line of compare(OTHER, source, request, { progress, lines })) text += line
  return text
}

const ROWS = [
  row(0, 'BUY', 0.06),
  row(1, 'BUY', 1),
  row(2, 'BUY', -1),
  row(3, 'HOLD', -1),
  row(4, 'BUY', 0, { factors: [] }),
  row(5, 'SELL', 1, { recordedLate: true }),
]
const OUTCOMES = [
  ended(0, 'up', 101),
  ended(1, 'up', 101),
  ended(2, 'down', 99),
  ended(3, 'timeout', 99.5),
  ended(4, 'up', 101),
  ended(5, 'up', 101),
]

test('both are scored on the same races, and nothing is where one of them is not known', async () => {
  const lines = (await written(ROWS, OUTCOMES)).trimEnd().split('\n')
  const { summary } = JSON.parse(lines.at(-1) ?? '') as { summary: WhatIfSummary }
  const first = 1 / (1 + Math.exp(-0.06))
  expect(lines.slice(0, -1).map((line) => (JSON.parse(line) as { other: unknown }).other)).toEqual([
    // BUY if it was BUY before: who knows?
    { call: null, probability: first },
    { call: 'BUY', probability: BUY },
    { call: 'SELL', probability: 1 - BUY },
    { call: 'SELL', probability: 1 - BUY },
    { call: null, probability: null, lacking: ['range_position'] },
    { call: 'BUY', probability: BUY },
  ])
  const mean = (...errors: number[]): number => errors.reduce((sum, one) => sum + one ** 2, 0) / errors.length
  expect(summary).toEqual({
    other_model: 'other-1',
    fitted: 'out_of_sample',
    rows: 6,
    compared: 4,
    agreements: 1,
    untold: 1,
    lacking: { range_position: 1 },
    withdrawn: 0,
    late: 1,
    races: 3,
    brier_difference: {
      value: expect.closeTo(mean(1 - first, 1 - BUY, 1 - BUY) - mean(0.46, 0.46, 0.54), 12),
      low: null,
      high: null,
    },
    better: null,
    recorded: {
      buy: 2,
      sell: 1,
      hold: 1,
      decided: 2,
      won: 1,
      exits: 2,
      in_favour: 0.5,
      brier: expect.closeTo(mean(0.46, 0.46, 0.54), 12),
    },
    other: {
      buy: 2,
      sell: 2,
      hold: 0,
      decided: 2,
      won: 2,
      exits: 3,
      in_favour: 1,
      brier: expect.closeTo(mean(1 - first, 1 - BUY, 1 - BUY), 12),
    },
  })
})

test('a table says the same to people', async () => {
  const text = await written(ROWS, OUTCOMES, TABLE_LINES)
  expect(text).toMatch(/^2035-01-01T02:00:00.000Z +SIM BTC 1h +BUY +0.5400 +SELL 0.2689 +differs$/m)
  expect(text).toMatch(/BUY +0.5400 +\? +0.5150$/m)
  expect(text).toMatch(/lacks range_position$/m)
  expect(text).toContain('6 verdicts beside other-1: 4 compared, 1 agree.')
  expect(text).toMatch(/in favour +1 of 2 +3 of 3\n/)
  expect(text).toMatch(
    /^Brier, other less recorded: -0\.\d{5} \[unknown\]\.\nNeither is shown to be the better one/m,
  )
})

describe('the better of two models', () => {
  /** A race a day: of ten the recorded forecast of 0.54 is right in so many, and the other one, of 0.73, as well. */
  const summaryOf = async (rightOfTen: number) => {
    const bars = Array.from({ length: 200 }, (_, day) => 24 * day)
    const text = await written(
      bars.map((bar) => row(bar, 'BUY', 1)),
      bars.map((bar, day) => (day % 10 < rightOfTen ? ended(bar, 'up', 101) : ended(bar, 'down', 99))),
    )
    return (JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as { summary: WhatIfSummary }).summary
  }

  test('is named where it beats the other one and a coin', async () => {
    expect(await summaryOf(8)).toMatchObject({ better: 'other' })
    expect((await summaryOf(8)).brier_difference?.high).toBeLessThan(0)
  })

  test('is not named where it only errs less loudly', async () => {
    const { better, brier_difference } = await summaryOf(5)
    expect(brier_difference?.low).toBeGreaterThan(0)
    expect(better).toBeNull()
  })
})

test('verdicts that were not decided yet are compared and not scored; none at all is refused', async () => {
  const text = await written(ROWS, [])
  expect(text).toContain('"races":0')
  expect(text).toContain('"in_favour":null,"brier":null')
  await expect(written([], [])).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('the log shows no verdict of this period'),
  })
})
