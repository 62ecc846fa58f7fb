import { expect, test } from 'vitest'
import { callOf, nextCall } from './call-trigger.ts'

const SIGN = { BUY: 1, HOLD: 0, SELL: -1 } as const

test.each([
  ['HOLD', 0.53, 'BUY'],
  ['HOLD', 0.5299, 'HOLD'],
  ['HOLD', 0.4701, 'HOLD'],
  ['HOLD', 0.47, 'SELL'],
  ['BUY', 0.53, 'BUY'],
  ['BUY', 0.51, 'BUY'],
  ['BUY', 0.5051, 'BUY'],
  ['BUY', 0.505, 'HOLD'],
  ['BUY', 0.5, 'HOLD'],
  ['BUY', 0.48, 'HOLD'],
  ['BUY', 0.47, 'SELL'],
  ['SELL', 0.47, 'SELL'],
  ['SELL', 0.49, 'SELL'],
  ['SELL', 0.4949, 'SELL'],
  ['SELL', 0.495, 'HOLD'],
  ['SELL', 0.52, 'HOLD'],
  ['SELL', 0.53, 'BUY'],
] as const)('%s at p = %d becomes %s', (current, probability, next) => {
  expect(callOf(nextCall(SIGN[current], probability))).toBe(next)
})
