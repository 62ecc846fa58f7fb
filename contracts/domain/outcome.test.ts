import { describe, expect, test } from 'vitest'
import { callReturn, type RaceEnd } from './outcome.ts'

const end = (change: Partial<RaceEnd>): RaceEnd => ({
  race: 'timeout',
  entryPrice: 200,
  exitPrice: 201,
  barrier: 0.02,
  ...change,
})

describe('the return of a call', () => {
  test('is the move, towards the called side', () => {
    expect(callReturn(end({}), 'BUY')).toBeCloseTo(0.005, 12)
    expect(callReturn(end({}), 'SELL')).toBeCloseTo(-0.005, 12)
  })

  test('is the barrier lost where a bar touched both, whichever side was called', () => {
    const both = end({ race: 'both', exitPrice: null })
    expect(callReturn(both, 'BUY')).toBe(-0.02)
    expect(callReturn(both, 'SELL')).toBe(-0.02)
  })

  test('is unknown for a HOLD, and where bars are missing', () => {
    expect(callReturn(end({}), 'HOLD')).toBeNull()
    expect(callReturn(end({ race: 'incomplete', entryPrice: null, exitPrice: null }), 'BUY')).toBeNull()
  })
})
