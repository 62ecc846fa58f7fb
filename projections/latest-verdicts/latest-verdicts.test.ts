import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../contracts/domain/verdict.fixture.ts'
import { CALLS } from '../../contracts/domain/verdict.ts'
import { fold, given, verdictRecorded } from '../given-events.fixture.ts'
import { latestVerdicts } from './latest-verdicts.ts'

describe('latest verdicts', () => {
  test('given nothing, there is no row', () => {
    expect(fold(latestVerdicts, given())).toEqual({})
  })

  test('given one verdict, its series has it, with the position it is at', () => {
    expect(fold(latestVerdicts, given(verdictRecorded({ coin: 'ETH', call: 'BUY' })))).toEqual({
      'SIM.ETH.1h': {
        verdict: aVerdict({ coin: 'ETH', call: 'BUY' }),
        position: '1',
        recorded: 1,
        buys: 1,
        sells: 0,
      },
    })
  })

  test('given several of one series, the last one stands and all are counted', () => {
    const bar = (n: number) => ({
      barClose: n * HOUR_MS,
      validUntil: (n + 8) * HOUR_MS,
      regimeSince: HOUR_MS,
    })
    const events = given(
      verdictRecorded({ ...bar(1), call: 'BUY' }),
      verdictRecorded({ ...bar(2), call: 'HOLD' }),
      verdictRecorded({ ...bar(3), call: 'SELL' }),
      verdictRecorded({ ...bar(4), call: 'BUY' }),
      verdictRecorded({ ...bar(5), call: 'HOLD' }),
    )
    expect(fold(latestVerdicts, events)).toEqual({
      'SIM.BTC.1h': { verdict: aVerdict(bar(5)), position: '5', recorded: 5, buys: 2, sells: 1 },
    })
  })

  test('given verdicts of series that differ in one part only, each has its own row', () => {
    const events = given(
      verdictRecorded(),
      verdictRecorded({ exchange: 'BINANCE' }),
      verdictRecorded({ coin: 'BTC1' }),
      verdictRecorded({ timeframe: '1m' }),
    )
    expect(Object.keys(fold(latestVerdicts, events)).toSorted()).toEqual([
      'BINANCE.BTC.1h',
      'SIM.BTC.1h',
      'SIM.BTC.1m',
      'SIM.BTC1.1h',
    ])
  })

  test('a row follows from the events of its own series alone', () => {
    const aFact = fc.record({
      coin: fc.constantFrom('BTC', 'ETH', 'SOL'),
      call: fc.constantFrom(...CALLS),
      price: fc.integer({ min: 1, max: 1_000_000 }),
    })
    fc.assert(
      fc.property(fc.array(aFact, { maxLength: 30 }), (facts) => {
        const events = given(...facts.map(verdictRecorded))
        const rows = fold(latestVerdicts, events)
        for (const coin of ['BTC', 'ETH', 'SOL']) {
          const own = events.filter((event) => event.type === 'VerdictRecorded' && event.data.coin === coin)
          const name = `SIM.${coin}.1h`
          expect(rows[name]).toEqual(fold(latestVerdicts, own)[name])
          expect(rows[name]?.recorded ?? 0).toBe(own.length)
        }
      }),
    )
  })
})
