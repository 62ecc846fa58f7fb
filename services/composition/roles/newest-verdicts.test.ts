import { expect, test } from 'vitest'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { createMarketNow } from './newest-verdicts.ts'

test('market time of a recorded market reads the board once, and is never before the newest bar of a former run', () => {
  let [state, reads, clock] = ['building', 0, 1]
  const reader = {
    health: () => ({ state }),
    range() {
      reads += 1
      return [{ key: 'SIM.BTC.1h', row: { verdict: aVerdict({ barClose: 7 }) } }]
    },
  }
  const settings = { MARKET: 'recorded', ROLES: ['engine', 'projector'] } as const
  const now = createMarketNow(settings as never, { clock: () => clock }, { reader: () => reader } as never)
  expect([now(), reads]).toEqual([1, 0])
  state = 'live'
  expect([now(), now(), reads]).toEqual([7, 7, 1])
  clock = 9
  expect([now(), reads]).toEqual([9, 1])
})
