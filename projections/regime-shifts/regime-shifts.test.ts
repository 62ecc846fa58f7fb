import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EXCHANGES } from '../../contracts/exchanges.ts'
import type { Series } from '../../contracts/series.ts'
import { HOUR_MS, TIMEFRAMES } from '../../contracts/timeframes.ts'
import { aVerdict } from '../../contracts/verdict.fixture.ts'
import { fold, given, regimeShifted, verdictRecorded } from '../given-events.fixture.ts'
import { regimeShiftKey, regimeShifts } from './regime-shifts.ts'

fc.configureGlobal({ seed: 8402 })

const BTC: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const ETH: Series = { ...BTC, coin: 'ETH' }

describe('regime shifts', () => {
  test('given nothing, there is no row', () => {
    expect(fold(regimeShifts, given())).toEqual({})
  })

  test('given a verdict without a shift, there is no row', () => {
    expect(fold(regimeShifts, given(verdictRecorded({ regime: 'VOLATILE' })))).toEqual({})
  })

  test('given shifts of two series, each is kept under its series and bar', () => {
    const first = { ...BTC, barClose: HOUR_MS, regime: 'TRENDING_UP', confidence: 55 } as const
    const second = { ...BTC, barClose: 2 * HOUR_MS, regime: 'VOLATILE' } as const
    const other = { ...ETH, barClose: 2 * HOUR_MS, regime: 'RANGING' } as const
    const events = given(
      verdictRecorded(first),
      regimeShifted('RANGING', first),
      regimeShifted('TRENDING_UP', second),
      regimeShifted('TRENDING_DOWN', other),
    )
    const { verdictId } = aVerdict()
    expect(fold(regimeShifts, events)).toEqual({
      'SIM.BTC.1h/000000003600000': {
        series: 'SIM.BTC.1h',
        barClose: HOUR_MS,
        regime: 'TRENDING_UP',
        priorRegime: 'RANGING',
        confidence: 55,
        verdictId,
        position: '2',
      },
      'SIM.BTC.1h/000000007200000': {
        series: 'SIM.BTC.1h',
        barClose: 2 * HOUR_MS,
        regime: 'VOLATILE',
        priorRegime: 'TRENDING_UP',
        confidence: 51,
        verdictId,
        position: '3',
      },
      'SIM.ETH.1h/000000007200000': {
        series: 'SIM.ETH.1h',
        barClose: 2 * HOUR_MS,
        regime: 'RANGING',
        priorRegime: 'TRENDING_DOWN',
        confidence: 51,
        verdictId,
        position: '4',
      },
    })
  })
})

describe('keys of shifts', () => {
  /** Up to the year 33658. */
  const aTime = fc.integer({ min: 0, max: 999_999_999_999_999 })
  const aSeries: fc.Arbitrary<Series> = fc.record({
    exchange: fc.constantFrom(...EXCHANGES),
    coin: fc.stringMatching(/^[A-Z0-9]{1,3}$/),
    timeframe: fc.constantFrom(...TIMEFRAMES),
  })

  test('sort by time within a series', () => {
    fc.assert(
      fc.property(aSeries, aTime, aTime, (series, a, b) => {
        expect(regimeShiftKey(series, a) < regimeShiftKey(series, b)).toBe(a < b)
      }),
    )
  })

  test('have the prefix of their own series and of no other', () => {
    fc.assert(
      fc.property(aSeries, aSeries, aTime, (series, other, time) => {
        const isSame = regimeShiftKey(series) === regimeShiftKey(other)
        expect(regimeShiftKey(series, time).startsWith(regimeShiftKey(series))).toBe(true)
        expect(regimeShiftKey(series, time).startsWith(regimeShiftKey(other))).toBe(isSame)
      }),
    )
  })
})
