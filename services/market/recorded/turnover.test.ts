import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { createTurnover } from './turnover.ts'

const bar = fc.record({
  gap: fc.integer({ min: 1, max: 400 }),
  close: fc.integer({ min: 1, max: 1_000 }),
  volume: fc.integer({ min: 0, max: 50 }),
})

describe('createTurnover', () => {
  test('sums the bars of the 24 hours before any instant, by whole hours', () => {
    fc.assert(
      fc.property(fc.array(bar, { maxLength: 60 }), fc.integer({ min: 0, max: 20_000 }), (bars, minutes) => {
        const turnover = createTurnover()
        let closeTime = 0
        const taken = bars.map(({ gap, close, volume }) => {
          closeTime += gap * MINUTE_MS
          turnover.add(closeTime, close, volume)
          return { hourEnd: Math.ceil(closeTime / HOUR_MS) * HOUR_MS, close, volume }
        })
        const instant = minutes * MINUTE_MS
        const within = (from: number, to: number) =>
          taken.filter(({ hourEnd }) => hourEnd > from && hourEnd <= to)
        const day = within(instant - DAY_MS, instant)
        const { quoteVolume24h, change24h } = turnover.at(instant)
        expect(quoteVolume24h).toBe(day.reduce((sum, { close, volume }) => sum + close * volume, 0))
        const [before, last] = [within(instant - 2 * DAY_MS, instant - DAY_MS).at(-1), day.at(-1)]
        expect(change24h).toBe(before && last ? last.close / before.close - 1 : null)
      }),
    )
  })

  test('knows nothing before the first bar', () => {
    expect(createTurnover().at(DAY_MS)).toEqual({ quoteVolume24h: 0, change24h: null })
  })
})
