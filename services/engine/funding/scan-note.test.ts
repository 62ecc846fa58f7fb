import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { DAYS, NOW, paying, START, scan } from './testing/scan-planted.ts'

describe('an answer', () => {
  test('leaves out markets without a settlement for three intervals, and says which', () => {
    const late = (hours: number) => [
      ...paying('BINANCE', 0.0001),
      ...paying('HL', 0.0006, { intervalHours: 1, toMs: NOW - hours * HOUR_MS }),
    ]
    expect(scan(late(2)).opportunities).toHaveLength(1)
    expect(scan(late(3))).toMatchObject({
      opportunities: [],
      pairs_compared: 0,
      markets_stale: 1,
      note: expect.stringContaining('Left out, with no settlement for more than 3 intervals: HL.BTC.'),
    })
  })

  test('does not compare a market that has only just come back', () => {
    const [out, back] = [NOW - 3 * DAY_MS, NOW - 5 * HOUR_MS]
    const settlements = [
      ...paying('BINANCE', 0.0001),
      ...paying('HL', 0.0006, { intervalHours: 1, toMs: out }),
      ...paying('HL', 0.0006, { intervalHours: 1, fromMs: back }),
    ]
    expect(scan(settlements)).toMatchObject({ pairs_compared: 0, pairs_too_short: 1, markets_stale: 0 })
  })

  test.each([
    [6, 0],
    [7, 1],
  ])('with %d days in common compares %d pairs', (days, compared) => {
    const fromMs = START + (DAYS - days) * DAY_MS
    const answer = scan([...paying('BINANCE', 0.0001), ...paying('HL', 0.0021, { fromMs })])
    expect([answer.pairs_compared, answer.pairs_too_short]).toEqual([compared, 1 - compared])
    if (compared === 0)
      expect(answer.note).toContain(
        'fewer than 7 whole days of history in common or a gap in the last 24 hours: BTC on BINANCE and HL.',
      )
  })

  test('says why there is nothing', () => {
    expect(scan([]).note).toBe('No funding has been settled here yet.')
    const single = [...paying('SIM', 0.001), ...paying('SIM', 0.001, { coin: 'ETH' })]
    expect(scan(single)).toMatchObject({
      opportunities: [],
      venues: ['SIM'],
      note: 'A pair takes the same coin on two exchanges; there is funding history here of SIM.',
    })
  })
})
