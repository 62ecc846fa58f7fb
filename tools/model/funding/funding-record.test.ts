import { describe, expect, test } from 'vitest'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { fundingRecords, rankCorrelation } from './funding-record.ts'
import type { PairDay } from './walk-funding.ts'

const day = (change: Partial<PairDay> & { readonly turned?: boolean }): PairDay => {
  const [long, short] = change.turned === true ? (['HL', 'BINANCE'] as const) : (['BINANCE', 'HL'] as const)
  return {
    atMs: 0,
    coin: 'BTC',
    long: { exchange: long, coin: 'BTC' },
    short: { exchange: short, coin: 'BTC' },
    expected: 0,
    realised: 0,
    atNewestRates: 0,
    persistence: 0.5,
    ...change,
  }
}

describe('a record', () => {
  const [record] = fundingRecords(
    [
      day({ atMs: 1, expected: 0.004, realised: 0.003, atNewestRates: -0.005, persistence: 0.4 }),
      day({ atMs: 2, expected: 0.003, realised: 0.001, atNewestRates: 0.003, persistence: 0.6 }),
      day({ atMs: 3, expected: 0.001, realised: 0.002, turned: true }),
      day({ atMs: 4, expected: 0, realised: -0.001 }),
    ],
    20,
  )

  test('counts entries with more than nothing expected after fees, and what they paid', () => {
    expect(record).toMatchObject({
      name: 'BTC HL–BINANCE',
      fromMs: 1,
      toMs: 4,
      days: 4,
      persistence: 0.5,
      recommended: {
        share: 0.5,
        expectedBps: expect.closeTo(15, 9),
        realisedBps: expect.closeTo(0, 9),
        wonShare: 0.5,
      },
    })
  })

  test('counts every day in the direction of the scan', () => {
    expect(record?.always).toEqual({
      share: 1,
      expectedBps: expect.closeTo(0, 9),
      realisedBps: expect.closeTo(-7.5, 9),
      realisedMarginBps: Number.NaN,
      wonShare: 0.25,
    })
  })

  test('counts what the newest rates say in their own direction', () => {
    expect(record?.byNewestRates).toEqual({
      share: 0.5,
      expectedBps: expect.closeTo(20, 9),
      realisedBps: expect.closeTo((-50 - 10) / 2, 9),
      realisedMarginBps: Number.NaN,
      wonShare: 0,
    })
  })

  test('correlates with the signs of the direction', () => {
    // As paid by HL less BINANCE: 40, 30, −10, 0 expected and 30, 10, −20, −10 paid.
    expect(record?.rankCorrelation).toBeCloseTo(1, 12)
  })

  test('has no mean without entries', () => {
    const [idle] = fundingRecords([day({ expected: 0.001, realised: 0.001 })], 20)
    expect(idle?.recommended).toEqual({
      share: 0,
      expectedBps: Number.NaN,
      realisedBps: Number.NaN,
      realisedMarginBps: Number.NaN,
      wonShare: Number.NaN,
    })
  })
})

test('what was realised is uncertain by what blocks of four weeks differ', () => {
  const block = 28 * DAY_MS
  // The first two are one piece of luck, not two: 10 and 10 in one block, −10 and −10 in two more.
  const realised = [0.003, 0.003, 0.001, 0.001]
  const times = [0, DAY_MS, block, 2 * block]
  const [record] = fundingRecords(
    realised.map((carry, index) => day({ atMs: times[index] ?? 0, realised: carry })),
    20,
  )
  expect(record?.always.realisedBps).toBeCloseTo(0, 9)
  expect(record?.always.realisedMarginBps).toBeCloseTo(
    (1.96 * Math.sqrt(1.5 * (20 ** 2 + 10 ** 2 + 10 ** 2))) / 4,
    9,
  )
})

test.each([
  [[1, 2, 3, 4], [10, 20, 30, 40], 1],
  [[1, 2, 3, 4], [4, 3, 2, 1], -1],
  // Ranks 0 1 2 3 against 0 2 1 3: 1 − 6·2 / (4·15).
  [[1, 2, 3, 4], [1, 5, 2, 9], 0.8],
  [[1, 1, 2, 2], [1, 1, 2, 2], 1],
  [[1, 1, 2, 2], [1, 2, 1, 2], 0],
])('ranks of %j and %j correlate by %d', (first, second, expected) => {
  expect(rankCorrelation(first, second)).toBeCloseTo(expected, 12)
})

test('what does not vary has no correlation', () => {
  expect(rankCorrelation([1, 1, 1], [1, 2, 3])).toBeNaN()
})
