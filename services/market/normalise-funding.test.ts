import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { HOUR_MS } from '../../contracts/domain/timeframes.ts'
import { normaliseFunding, type RawFunding } from './normalise-funding.ts'
import { isDataAbsent, RECORDED_DATA, readTable, whenPresent } from './testing/recorded-data.ts'

const market = { exchange: 'BINANCE', coin: 'ENA' } as const

const at = (hour: number, rate = 0.0001): RawFunding => ({ time: hour * HOUR_MS, rate })
const intervals = (rows: readonly RawFunding[]) =>
  normaliseFunding(rows, market).map(({ intervalHours }) => intervalHours)

/** Settlements after so many hours each. */
function stepping(...steps: number[]): RawFunding[] {
  let hour = 1_000
  return [at(hour), ...steps.map((step) => at((hour += step)))]
}

describe('normaliseFunding', () => {
  it('orders settlements and rounds their times to the minute', () => {
    const rows = [{ time: 57_600_001, rate: 0.0002 }, { time: 28_799_997, rate: -0.0001 }, at(24)]
    expect(normaliseFunding(rows, market)).toEqual([
      { time: 8 * HOUR_MS, rate: -0.0001, intervalHours: 8 },
      { time: 16 * HOUR_MS, rate: 0.0002, intervalHours: 8 },
      { time: 24 * HOUR_MS, rate: 0.0001, intervalHours: 8 },
    ])
  })

  it('leaves rates as they are, whatever the interval', () => {
    const funding = normaliseFunding([at(1, 0.00001), at(2, 0.00002), at(3, 0.00003)], market)
    expect(funding.map(({ rate, intervalHours }) => [rate, intervalHours])).toEqual([
      [0.00001, 1],
      [0.00002, 1],
      [0.00003, 1],
    ])
  })

  it('takes the later of two rows of a settlement', () => {
    const rows = [at(8, 0.1), at(16), at(24), { time: 16 * HOUR_MS + 3, rate: 0.0001 }, at(8, 0.2)]
    const found = normaliseFunding(rows, market)
    expect(found.map(({ rate }) => rate)).toEqual([0.2, 0.0001, 0.0001])
  })

  it('follows a contract from 8 to 4 to 1 hours and back', () => {
    const steps = [8, 8, 8, 8, 4, 4, 4, 4, 1, 1, 1, 1, 8, 8, 8, 8]
    expect(intervals(stepping(...steps))).toEqual([8, ...steps])
  })

  it.each([
    [4, 8],
    [1, 4],
    [1, 8],
    [8, 4],
    [4, 1],
  ])('follows a contract from %d to %d hours from the first settlement on', (was, is) => {
    expect(intervals(stepping(was, was, was, is)).at(-1)).toBe(is)
    expect(intervals(stepping(was, was, was, is, is))).toEqual([was, was, was, was, is, is])
  })

  it('lets the venue say whether the newest step is a new interval or an outage', () => {
    const told = (present: number) =>
      normaliseFunding(stepping(4, 4, 4, 8), market, present).at(-1)?.intervalHours
    expect([told(4), told(8)]).toEqual([4, 8])
    expect(normaliseFunding([at(8)], market, 2)).toMatchObject([{ intervalHours: 2 }])
  })

  it('takes a single shorter interval as it is', () => {
    expect(intervals(stepping(8, 8, 4, 8, 8))).toEqual([8, 8, 8, 4, 8, 8])
  })

  it('does not take an outage for an interval, of whatever length', () => {
    expect(intervals(stepping(8, 8, 752, 8, 8))).toEqual([8, 8, 8, 8, 8, 8])
    expect(intervals(stepping(4_004, 4, 4, 4))).toEqual([4, 4, 4, 4, 4])
    expect(intervals(stepping(1, 1, 8, 1, 1))).toEqual([1, 1, 1, 1, 1, 1])
    expect(intervals(stepping(8, 16, 8, 16, 8))).toEqual([8, 8, 8, 8, 8, 8])
  })

  it('does not take a late settlement for an interval', () => {
    expect(intervals(stepping(8, 10, 6, 8, 8))).toEqual([8, 8, 8, 8, 8, 8])
    expect(intervals(stepping(1, 0.75, 1, 1))).toEqual([1, 1, 1, 1, 1])
  })

  it('believes a venue that says the interval', () => {
    expect(intervals([{ ...at(1), intervalHours: 4 }])).toEqual([4])
  })

  it('does not guess the interval of a single row', () => {
    expect(() => normaliseFunding([at(8)], market)).toThrow('interval of the rate at 1970-01-01T08:00')
    expect(normaliseFunding([], market)).toEqual([])
  })

  it.each([
    [{ time: -1, rate: 0 }, 'time -1'],
    [{ time: 1, rate: 2 }, 'rate 2'],
    [{ time: 1, rate: Number.NaN }, 'rate NaN'],
    [{ time: 1, rate: 0, intervalHours: 99 }, 'interval of 99'],
  ])('refuses %j', (row, fault) => {
    expect(() => normaliseFunding([at(0), row], market)).toThrow(
      expect.objectContaining({ code: 'market_data_damaged', details: { market: 'BINANCE.ENA', row: 1 } }),
    )
    expect(() => normaliseFunding([row], market)).toThrow(fault)
  })
})

describe.skipIf(isDataAbsent)(`normaliseFunding on recorded settlements${whenPresent}`, () => {
  it.each([
    ['binance-usdm/BTCUSDT-funding', [8]],
    ['binance-usdm/ENAUSDT-funding', [4]],
    ['hyperliquid/BTC-funding', [1, 8]],
    ['funding/gate-BTC', [8]],
    ['funding/htx-BTC', [8]],
    ['funding/dydx-BTC', [1]],
    ['multi-8h/okx-BTCUSDT-funding', [8]],
  ])('%s is paid every %j hours', async (name, expected) => {
    const rows = (await readTable(name)).map(([time = 0, rate = 0]) => ({ time, rate }))
    const funding = normaliseFunding(rows, market)
    expect(funding).toHaveLength(rows.length)
    expect(new Set(funding.map(({ intervalHours }) => intervalHours))).toEqual(new Set(expected))
  })

  it('puts the newest-first answer of a venue in order', async () => {
    const path = `${RECORDED_DATA}/venue-responses/bybit/http_get_funding_history.json`
    const answer = JSON.parse(await readFile(path, 'utf8')) as {
      result: { list: { fundingRate: string; fundingRateTimestamp: string }[] }
    }
    const rows = answer.result.list.map(({ fundingRate, fundingRateTimestamp }) => ({
      time: Number(fundingRateTimestamp),
      rate: Number(fundingRate),
    }))
    expect(normaliseFunding(rows, market)).toEqual([
      { time: 1_709_856_000_000, rate: 0.00015, intervalHours: 8 },
      { time: 1_709_884_800_000, rate: 0.0001, intervalHours: 8 },
    ])
  })
})
