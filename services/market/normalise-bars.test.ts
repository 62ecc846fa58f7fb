import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import { normaliseBars, type RawBar } from './normalise-bars.ts'
import { isDataAbsent, RECORDED_DATA, whenPresent } from './testing/recorded-data.ts'

const series = { exchange: 'BYBIT', coin: 'BTC', timeframe: '1h' } as const
const later = 1_000 * HOUR_MS

const bar = (hour: number, close = 100): RawBar => ({
  openTime: hour * HOUR_MS,
  open: 100,
  high: 200,
  low: 50,
  close,
  volume: 1,
})

const hours = (bars: readonly { readonly openTime: number }[]) =>
  bars.map(({ openTime }) => openTime / HOUR_MS)

describe('normaliseBars', () => {
  it('puts bars in order, whichever way they come', () => {
    const order = fc.shuffledSubarray(Array.from({ length: 30 }, (_, hour) => hour))
    fc.assert(
      fc.property(order, (shuffled) => {
        const { bars } = normaliseBars(
          shuffled.map((hour) => bar(hour)),
          { series, now: later },
        )
        expect(hours(bars)).toEqual(shuffled.toSorted((a, b) => a - b))
      }),
    )
  })

  it('reads numbers that are written as text', () => {
    const row = { openTime: '3600000', open: '1.5', high: '2', low: '1', close: '1.75', volume: '0.125' }
    expect(normaliseBars([row], { series, now: later }).bars).toEqual([
      { openTime: HOUR_MS, open: 1.5, high: 2, low: 1, close: 1.75, volume: 0.125 },
    ])
  })

  it('drops the bar that is still forming, and keeps it from the instant it closes', () => {
    const rows = [bar(9), bar(8), bar(7)]
    const before = normaliseBars(rows, { series, now: 10 * HOUR_MS - 1 })
    expect(hours(before.bars)).toEqual([7, 8])
    expect(before.unclosed).toBe(1)
    expect(hours(normaliseBars(rows, { series, now: 10 * HOUR_MS }).bars)).toEqual([7, 8, 9])
  })

  it('takes the later of two rows of a bar, and reports those that differ', () => {
    const found = normaliseBars([bar(1), bar(2), bar(2), bar(1, 120)], { series, now: later })
    expect(found.bars.map(({ close }) => close)).toEqual([120, 100])
    expect(found.duplicates).toBe(2)
    expect(found.conflicts).toEqual([HOUR_MS])
  })

  it('reports the bars that are missing in between', () => {
    const { gaps } = normaliseBars([bar(9), bar(3), bar(2), bar(5)], { series, now: later })
    expect(gaps).toEqual([
      { first: 4 * HOUR_MS, last: 4 * HOUR_MS, missing: 1 },
      { first: 6 * HOUR_MS, last: 8 * HOUR_MS, missing: 3 },
    ])
  })

  it('has no gaps in nothing', () => {
    expect(normaliseBars([], { series, now: later })).toEqual({
      bars: [],
      gaps: [],
      conflicts: [],
      duplicates: 0,
      unclosed: 0,
    })
  })

  it.each([
    [{ openTime: HOUR_MS + 1 }, 'not on the 1h grid'],
    [{ openTime: 'soon' }, 'is not a time'],
    [{ high: '' }, 'is not a positive number'],
    [{ low: 101 }, 'low 101 is above open or close'],
    [{ volume: -1 }, 'volume -1'],
  ])('refuses a row with %j', (change, fault) => {
    const rows = [bar(1), { ...bar(2), ...change }]
    expect(() => normaliseBars(rows, { series, now: later })).toThrow(
      expect.objectContaining({
        code: 'market_data_damaged',
        message: expect.stringMatching(/^BYBIT\.BTC\.1h: row 1 /),
      }),
    )
    expect(() => normaliseBars(rows, { series, now: later })).toThrow(fault)
  })
})

describe.skipIf(isDataAbsent)(`normaliseBars on venue answers${whenPresent}`, () => {
  it.each(['bybit_perpetual', 'okx_perpetual'])('orders the newest-first answer of %s', async (venue) => {
    const path = `${RECORDED_DATA}/venue-responses/hummingbot-candles/${venue}/get_candles_rest_data_mock.json`
    const answer = JSON.parse(await readFile(path, 'utf8')) as {
      result?: { list: string[][] }
      data?: string[][]
    }
    const rows = (answer.result?.list ?? answer.data ?? []).map(
      ([openTime = '', open = '', high = '', low = '', close = '', volume = '']): RawBar => ({
        openTime,
        open,
        high,
        low,
        close,
        volume,
      }),
    )
    const newest = Number(rows[0]?.openTime)
    const found = normaliseBars(rows, { series, now: newest + 1 })
    expect(rows.length).toBeGreaterThan(3)
    expect(found).toMatchObject({ unclosed: 1, gaps: [], duplicates: 0 })
    expect(found.bars).toHaveLength(rows.length - 1)
    expect(found.bars.at(-1)?.openTime).toBe(newest - HOUR_MS)
  })
})
