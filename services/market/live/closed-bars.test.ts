import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Candle } from '../../../contracts/domain/candle.ts'
import { MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { closedBars } from './closed-bars.ts'

const series = { exchange: 'MEXC', coin: 'BTC', timeframe: '1m' } as const
const BEGIN = Date.UTC(2026, 0, 1)
const now = BEGIN + 1_000 * MINUTE_MS
const onFault = (fault: string): void => expect.fail(fault)

const bar = (minute: number, changes: Partial<Candle> = {}): Candle => ({
  openTime: BEGIN + minute * MINUTE_MS,
  open: 2,
  high: 3,
  low: 1,
  close: 2,
  volume: 0,
  ...changes,
})

test('bars come in order, whatever the order of the rows', () => {
  const order = fc.shuffledSubarray(Array.from({ length: 30 }, (_, minute) => minute))
  fc.assert(
    fc.property(order, (shuffled) => {
      const rows = shuffled.map((minute) => bar(minute))
      expect(closedBars(rows, { series, now, onFault })).toEqual(
        shuffled.toSorted((a, b) => a - b).map((minute) => bar(minute)),
      )
    }),
  )
})

test('the bar that is still open is left out, and taken from the instant it closes', () => {
  const rows = [bar(9), bar(8), bar(7)]
  const minutes = (at: number) =>
    closedBars(rows, { series, now: BEGIN + at, onFault }).map((one) => one.openTime - BEGIN)
  expect(minutes(10 * MINUTE_MS - 1)).toEqual([7 * MINUTE_MS, 8 * MINUTE_MS])
  expect(minutes(10 * MINUTE_MS)).toEqual([7 * MINUTE_MS, 8 * MINUTE_MS, 9 * MINUTE_MS])
})

test('of two rows of a bar the later one wins', () => {
  const rows = [bar(1), bar(2), bar(2), bar(1, { close: 3 })]
  expect(closedBars(rows, { series, now, onFault })).toEqual([bar(1, { close: 3 }), bar(2)])
})

test('rows that cannot be bars are left out and reported', () => {
  const faults: unknown[] = []
  const noted = (...fault: unknown[]): void => void faults.push(fault)
  const rows = [bar(1), bar(2, { close: 0 }), bar(3), bar(4), bar(5, { openTime: BEGIN + 299_000 }), bar(6)]
  expect(closedBars(rows, { series, now, onFault: noted })).toEqual([bar(1), bar(3), bar(4), bar(6)])
  expect(faults).toEqual([['2 of 6 rows are no bars, such as: price 0 is not a positive number', 2]])
  expect(closedBars([bar(1)], { series, now, onFault: noted })).toEqual([bar(1)])
  expect(faults).toHaveLength(1)
})

test('an answer of which half is no bars is refused', () => {
  const rows = [bar(1), bar(2, { openTime: Number.NaN })]
  expect(() => closedBars(rows, { series, now, onFault: () => undefined })).toThrow(/1 of 2 rows are no bars/)
})
