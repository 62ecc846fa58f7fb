import { expect, test } from 'vitest'
import type { Candle } from '../../../contracts/candle.ts'
import { soundBars } from './sound-bars.ts'

const SERIES = { exchange: 'MEXC', coin: 'BTC', timeframe: '1m' } as const

const bar = (minute: number, changes: Partial<Candle> = {}): Candle => ({
  openTime: minute * 60_000,
  open: 2,
  high: 3,
  low: 1,
  close: 2,
  volume: 0,
  ...changes,
})

test('rows that cannot be bars are left out, and said', () => {
  const faults: unknown[] = []
  const noted = (...fault: unknown[]): void => void faults.push(fault)
  const rows = [bar(1), bar(2, { close: 0 }), bar(3), bar(4), bar(5, { openTime: 299_000 }), bar(6)]
  expect(soundBars(rows, SERIES, noted)).toEqual([bar(1), bar(3), bar(4), bar(6)])
  expect(faults).toEqual([['2 of 6 rows are no bars, such as: price 0 is not a positive number', 2]])
  expect(soundBars([bar(1)], SERIES, noted)).toEqual([bar(1)])
  expect(faults).toHaveLength(1)
})

test('an answer of which half is no bars is not understood', () => {
  expect(() => soundBars([bar(1), bar(2, { openTime: Number.NaN })], SERIES, () => undefined)).toThrow(
    /1 of 2 rows are no bars/,
  )
})
