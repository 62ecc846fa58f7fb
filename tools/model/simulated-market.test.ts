import { expect, test } from 'vitest'
import { seedOfNewMarket } from '../../services/market/index.ts'
import { studySimulatedMarket } from './simulated-market.ts'

const COINS = ['BTC', 'DOGE']
const HOURS = 12_000
const REGIMES = ['falling', 'ranging', 'rising', 'volatile'] as const

test('in a new simulated market ranges hold in every regime, and nothing can be gained', () => {
  const { coverage, auc, calls } = studySimulatedMarket(seedOfNewMarket('signal'), '1h', HOURS, COINS)
  expect([...coverage.keys()].toSorted()).toEqual(REGIMES)
  for (const [regime, { low, high }] of coverage) {
    expect(low, regime).toBeLessThan(0.82)
    expect(high, regime).toBeGreaterThan(0.78)
  }
  expect(auc?.low).toBeLessThan(0.5)
  expect(auc?.high).toBeGreaterThan(0.5)
  expect(calls?.called.gross.low).toBeLessThan(0)
  expect(calls?.called.gross.high).toBeGreaterThan(0)
})

test('a market that an earlier release began is drawn as it was: its trends leave the ranges', () => {
  const { coverage } = studySimulatedMarket('signal', '1h', HOURS, COINS)
  for (const regime of ['rising', 'falling', 'volatile'] as const)
    expect(coverage.get(regime)?.high).toBeLessThan(0.78)
})
