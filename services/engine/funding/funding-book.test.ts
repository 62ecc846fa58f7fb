import { describe, expect, test } from 'vitest'
import type { FundingRate } from '../../../contracts/funding.ts'
import { createFundingBook } from './funding-book.ts'

const funding: FundingRate = { time: Date.UTC(2024, 0, 1), rate: 0.0001, intervalHours: 8 }
const namesOf = (book: ReturnType<typeof createFundingBook>, coin: string) =>
  book.marketsOf(coin).map(({ market }) => market.exchange)

describe('a funding book', () => {
  test('knows its coins by name and their markets in the order of the exchange codes', () => {
    const book = createFundingBook({ keepDays: 30 })
    expect([book.coins, book.exchanges, book.marketCount, book.bytes]).toEqual([[], [], 0, 0])
    for (const market of [
      { exchange: 'HL', coin: 'SOL' },
      { exchange: 'HL', coin: 'BTC' },
      { exchange: 'BINANCE', coin: 'SOL' },
      { exchange: 'BINANCE', coin: 'SOL' },
    ] as const) {
      book.take({ market, funding })
    }
    expect(book.coins).toEqual(['BTC', 'SOL'])
    expect(book.exchanges).toEqual(['BINANCE', 'HL'])
    expect(namesOf(book, 'SOL')).toEqual(['BINANCE', 'HL'])
    expect(namesOf(book, 'BTC')).toEqual(['HL'])
    expect(namesOf(book, 'ETH')).toEqual([])
    expect(book.marketCount).toBe(3)
    expect(book.bytes).toBeGreaterThan(0)
  })

  test('has contracts by multiples as one coin, by any of its names', () => {
    const book = createFundingBook({ keepDays: 30 })
    for (const market of [
      { exchange: 'HL', coin: 'KPEPE' },
      { exchange: 'BINANCE', coin: '1000PEPE' },
      { exchange: 'OKX', coin: 'PEPE' },
    ] as const) {
      book.take({ market, funding })
    }
    expect(book.coins).toEqual(['PEPE'])
    for (const name of ['PEPE', 'KPEPE', '1000PEPE'])
      expect(namesOf(book, name)).toEqual(['BINANCE', 'OKX', 'HL'])
  })

  test('does not list a market for a settlement that was refused', () => {
    const book = createFundingBook({ keepDays: 30 })
    const market = { exchange: 'HL', coin: 'BTC' } as const
    expect(() => book.take({ market, funding: { ...funding, rate: 7 } })).toThrow('"rate":7')
    expect([book.coins, book.marketCount]).toEqual([[], 0])
  })

  test('takes no more markets than all exchanges could rank', () => {
    const book = createFundingBook({ keepDays: 2 })
    const fill = () => {
      for (let coin = 0; coin <= 7_500; coin++) {
        book.take({ market: { exchange: 'HL', coin: `C${coin}` }, funding })
      }
    }
    expect(fill).toThrow('The funding book is full with 7500 markets')
    expect(book.marketCount).toBe(7_500)
  })

  test.each([1, 367, 7.5, Number.NaN])('of %d days is refused', (keepDays) => {
    expect(() => createFundingBook({ keepDays })).toThrow(`cannot keep ${keepDays} days`)
  })
})
