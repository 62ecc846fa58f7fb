import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CELL } from '../cells.ts'
import { RANGE_BARS, rangePosition, updateRange } from './range-position.ts'

const bar = fc.record({
  low: fc.integer({ min: 1, max: 40 }),
  width: fc.integer({ min: 0, max: 40 }),
  close: fc.nat(1_000),
})

test('the range is that of the last 48 bars, however it is kept', () => {
  fc.assert(
    fc.property(fc.array(bar, { minLength: 1, maxLength: 200 }), (shapes) => {
      const cells = new Float64Array(CELL.features)
      const bars = shapes.map(({ low, width, close }, index) => ({
        openTime: index,
        open: low,
        high: low + width,
        low,
        close: low + (width * close) / 1_000,
        volume: 1,
      }))
      for (const [index, one] of bars.entries()) {
        cells[CELL.bars] = index + 1
        cells[CELL.close] = one.close
        updateRange(cells, 0, index + 1, one)
        const window = bars.slice(Math.max(0, index + 1 - RANGE_BARS), index + 1)
        const highest = Math.max(...window.map(({ high }) => high))
        const lowest = Math.min(...window.map(({ low }) => low))
        const expected =
          index + 1 < RANGE_BARS
            ? Number.NaN
            : highest === lowest
              ? 0
              : (2 * one.close - highest - lowest) / (highest - lowest)
        expect(rangePosition(cells, 0)).toBe(expected)
      }
    }),
  )
})
