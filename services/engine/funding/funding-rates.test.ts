import { describe, expect, test } from 'vitest'
import type { FundingRate } from '../../../contracts/domain/candle.ts'
import { newestFunding } from './compare-venues.ts'
import { createFundingRates } from './funding-rates.ts'

const funding: FundingRate = { time: Date.UTC(2024, 0, 1), rate: 0.0001, intervalHours: 8 }
const namesOf = (rates: ReturnType<typeof createFundingRates>, coin: string) =>
  rates.marketsOf(coin).map(({ market }) => market.exchange)

describe('funding rates', () => {
  test('knows its coins by name and their markets in the order of the exchange codes', () => {
    const rates = createFundingRates({ keepDays: 30 })
    expect([rates.coins, rates.exchanges, rates.marketCount]).toEqual([[], [], 0])
    for (const market of [
      { exchange: 'HL', coin: 'SOL' },
      { exchange: 'HL', coin: 'BTC' },
      { exchange: 'BINANCE', coin: 'SOL' },
      { exchange: 'BINANCE', coin: 'SOL' },
    ] as const) {
      rates.take({ market, funding })
    }
    expect(rates.coins).toEqual(['BTC', 'SOL'])
    expect(rates.exchanges).toEqual(['BINANCE', 'HL'])
    expect(namesOf(rates, 'SOL')).toEqual(['BINANCE', 'HL'])
    expect(namesOf(rates, 'BTC')).toEqual(['HL'])
    expect(namesOf(rates, 'ETH')).toEqual([])
    expect(rates.marketCount).toBe(3)
  })

  test('tell the newest rate of a market by the year, and none of another market or of long ago', () => {
    const rates = createFundingRates({ keepDays: 30 })
    rates.take({ market: { exchange: 'HL', coin: 'SOL' }, funding })
    const rateOf = (exchange: 'HL' | 'BINANCE', coin: string, hours: number) =>
      newestFunding(rates, { exchange, coin }, funding.time + hours * 3_600_000)
    expect(rateOf('HL', 'SOL', 24)).toBeCloseTo(0.1095, 10)
    expect(rateOf('HL', 'SOL', 25)).toBeNull()
    expect([rateOf('BINANCE', 'SOL', 1), rateOf('HL', '1000SOL', 1)]).toEqual([null, null])
  })

  test('has contracts by multiples as one coin, by any of its names', () => {
    const rates = createFundingRates({ keepDays: 30 })
    for (const market of [
      { exchange: 'HL', coin: 'KPEPE' },
      { exchange: 'BINANCE', coin: '1000PEPE' },
      { exchange: 'OKX', coin: 'PEPE' },
    ] as const) {
      rates.take({ market, funding })
    }
    expect(rates.coins).toEqual(['PEPE'])
    for (const name of ['PEPE', 'KPEPE', '1000PEPE'])
      expect(namesOf(rates, name)).toEqual(['BINANCE', 'OKX', 'HL'])
  })

  test('does not list a market for a settlement that was refused', () => {
    const rates = createFundingRates({ keepDays: 30 })
    const market = { exchange: 'HL', coin: 'BTC' } as const
    expect(() => rates.take({ market, funding: { ...funding, rate: 7 } })).toThrow('"rate":7')
    expect([rates.coins, rates.marketCount]).toEqual([[], 0])
  })

  test('takes no more markets than all exchanges could rank', () => {
    const rates = createFundingRates({ keepDays: 2 })
    const fill = () => {
      for (let coin = 0; coin <= 7_500; coin++) {
        rates.take({ market: { exchange: 'HL', coin: `C${coin}` }, funding })
      }
    }
    expect(fill).toThrow('Funding rates are full with 7500 markets')
    expect(rates.marketCount).toBe(7_500)
  })

  test.each([1, 367, 7.5, Number.NaN])('of %d days is refused', (keepDays) => {
    expect(() => createFundingRates({ keepDays })).toThrow(`cannot keep ${keepDays} days`)
  })
})
