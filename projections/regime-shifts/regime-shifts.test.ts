import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EXCHANGES, type Series } from '../../contracts/domain/series.ts'
import { HOUR_MS, TIMEFRAMES } from '../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { REGIMES, type Regime, shiftedFrom, type Verdict } from '../../contracts/domain/verdict.ts'
import { fold, given, verdictRecorded } from '../given-events.fixture.ts'
import { type RegimeShift, regimeShiftKey, regimeShifts } from './regime-shifts.ts'

const BTC: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }
const ETH: Series = { ...BTC, coin: 'ETH' }

const shiftsOf = (rows: Record<string, unknown>): RegimeShift[] =>
  Object.values(rows).filter((row): row is RegimeShift => (row as RegimeShift).kind === 'shift')

describe('regime shifts', () => {
  test('given nothing, or the first verdict of a series, there is none', () => {
    expect(shiftsOf(fold(regimeShifts, given()))).toEqual([])
    expect(shiftsOf(fold(regimeShifts, given(verdictRecorded({ regime: 'VOLATILE' }))))).toEqual([])
  })

  test('given verdicts of two series, each has shifted where its own regime is another than before', () => {
    const at = (series: Series, hour: number, regime: Regime) =>
      verdictRecorded({ ...series, barClose: hour * HOUR_MS, regime, confidence: 50 + hour })
    const events = given(
      at(BTC, 1, 'RANGING'),
      at(ETH, 1, 'TRENDING_UP'),
      at(BTC, 2, 'RANGING'),
      at(BTC, 3, 'VOLATILE'),
      at(ETH, 3, 'TRENDING_UP'),
      at(ETH, 9, 'RANGING'),
      at(BTC, 4, 'RANGING'),
    )
    const rows = fold(regimeShifts, events)
    expect(shiftsOf(rows)).toHaveLength(3)
    expect(rows).toMatchObject({
      'SIM.BTC.1h/000000010800000': {
        kind: 'shift',
        series: 'SIM.BTC.1h',
        barClose: 3 * HOUR_MS,
        regime: 'VOLATILE',
        priorRegime: 'RANGING',
        confidence: 53,
        verdictId: aVerdict().verdictId,
        position: '4',
      },
      'SIM.BTC.1h/000000014400000': { regime: 'RANGING', priorRegime: 'VOLATILE', position: '7' },
      'SIM.ETH.1h/000000032400000': { regime: 'RANGING', priorRegime: 'TRENDING_UP', position: '6' },
    })
  })

  test('of any verdicts, each is told once', () => {
    const step = fc.record({ coin: fc.constantFrom('BTC', 'ETH'), regime: fc.constantFrom(...REGIMES) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const regimes = new Map<string, Verdict['previous']>()
        const expected: string[] = []
        const facts = steps.flatMap(({ coin, regime }, index) => {
          const verdict = { ...BTC, coin, regime, barClose: (index + 1) * HOUR_MS }
          const previous = regimes.get(coin) ?? null
          regimes.set(coin, { barClose: verdict.barClose, regime })
          const prior = shiftedFrom({ regime, previous })
          if (prior !== undefined) expected.push(`${coin} ${prior} ${regime}`)
          return [verdictRecorded({ ...verdict, previous })]
        })
        const found = shiftsOf(fold(regimeShifts, given(...facts)))
        expect(
          found
            .toSorted((a, b) => a.barClose - b.barClose)
            .map(({ series, priorRegime, regime }) => `${series.split('.')[1]} ${priorRegime} ${regime}`),
        ).toEqual(expected)
      }),
    )
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
