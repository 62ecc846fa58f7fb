import { expect, test } from 'vitest'
import { fundingTable } from './funding-table.ts'

test('a row says how often a rule entered, what it expected and got, and how certain that is', () => {
  const never = {
    share: 0,
    expectedBps: Number.NaN,
    realisedBps: Number.NaN,
    realisedMarginBps: Number.NaN,
    wonShare: Number.NaN,
  }
  const often = {
    share: 0.347,
    expectedBps: 8.84,
    realisedBps: -7.5,
    realisedMarginBps: 3.21,
    wonShare: 0.514,
  }
  const record = {
    name: 'BTC HL–BINANCE',
    fromMs: Date.UTC(2023, 4, 19),
    toMs: Date.UTC(2025, 6, 18),
    days: 1_793,
    persistence: 0.589,
    rankCorrelation: -0.412,
    always: { ...often, share: 1 },
  }
  const [header, , ...rows] = fundingTable([
    { ...record, recommended: often, byNewestRates: { ...often, realisedMarginBps: Number.NaN } },
    { ...record, recommended: never, byNewestRates: never },
  ]).split('\n')
  const start = '| BTC HL–BINANCE | 2023-05 – 2025-07 | 1,793 | 0.59 | −0.41 | 8.8 | −7.5 |'
  expect(rows).toEqual([
    `${start} 34.7 % | 8.8 | −7.5 ± 3.2 | 51 % | 34.7 % | 8.8 | −7.5 |`,
    `${start} never | – | – | – | never | – | – |`,
  ])
  for (const row of rows) expect(row.split('|')).toHaveLength(header?.split('|').length ?? 0)
})
