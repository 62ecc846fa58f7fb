import { describe, expect, it } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../contracts/domain/timeframes.ts'
import type { NativeBars } from './feed.ts'
import { derivableTimeframes, planSource } from './plan-source.ts'

const days = (timeframe: NativeBars['timeframe'], firstDay: number, lastDay: number): NativeBars => ({
  timeframe,
  firstOpen: firstDay * DAY_MS,
  lastClose: lastDay * DAY_MS,
})

describe('planSource', () => {
  it('takes native bars, else the longest that divide', () => {
    const native: NativeBars[] = [{ timeframe: '1m' }, { timeframe: '1h' }, { timeframe: '8h' }]
    expect(planSource('1h', native)?.timeframe).toBe('1h')
    expect(planSource('12h', native)?.timeframe).toBe('1h')
    expect(planSource('1d', native)?.timeframe).toBe('8h')
    expect(planSource('5m', native.toReversed())?.timeframe).toBe('1m')
  })

  it('prefers years of shorter bars to months of native ones', () => {
    expect(planSource('4h', [days('4h', 1_900, 2_000), days('1h', 0, 2_000)])?.timeframe).toBe('1h')
    expect(planSource('4h', [days('4h', 0, 2_000), days('1h', 1_900, 2_000)])?.timeframe).toBe('4h')
  })

  it('prefers native bars over the same time, also where shorter ones reach a little further', () => {
    const reachingFurther = { ...days('1h', 0, 100), lastClose: 100 * DAY_MS + 3_600_000 }
    expect(planSource('1d', [reachingFurther, days('1d', 0, 100)])?.timeframe).toBe('1d')
  })

  it('has nothing for a timeframe that nothing divides', () => {
    expect(planSource('5m', [{ timeframe: '3m' }])).toBeUndefined()
    expect(planSource('1m', [])).toBeUndefined()
  })

  it('has nothing where not one whole bar can be made', () => {
    const afternoon = { timeframe: '1h', firstOpen: 12 * HOUR_MS, lastClose: DAY_MS + 12 * HOUR_MS } as const
    expect(planSource('12h', [afternoon])).toBe(afternoon)
    expect(planSource('1d', [afternoon])).toBeUndefined()
  })
})

describe('derivableTimeframes', () => {
  it('lists what can be made, shortest first', () => {
    expect(derivableTimeframes([{ timeframe: '8h' }])).toEqual(['8h', '1d'])
    expect(derivableTimeframes([{ timeframe: '3m' }])).toEqual([
      '3m',
      '15m',
      '30m',
      '1h',
      '2h',
      '4h',
      '8h',
      '12h',
      '1d',
    ])
    expect(derivableTimeframes([])).toEqual([])
  })
})
