import { expect, test } from 'vitest'
import type { Candle } from '../../../contracts/candle.ts'
import { randomWalk } from '../../../testing/random-walk.ts'
import { CELL, cell } from '../cells.ts'
import { loadModel } from '../model.ts'
import { SeriesPool } from '../series-pool.ts'

const momentumAfter = (bars: readonly Candle[]): number => {
  const pool = new SeriesPool(loadModel())
  const slot = pool.open('1h')
  for (const bar of bars) pool.push(slot, bar)
  return cell(pool.cells, pool.baseOf(slot) + CELL.volumeMomentum)
}

const walk = randomWalk(5, 80)
const calm = walk.map((bar) => ({ ...bar, volume: 100 }))
/** The last bar moves by 2 % on four times the volume. */
const endingWith = (factor: number, volume: number): Candle[] => {
  const last = calm.at(-1) ?? expect.fail('The walk is empty.')
  const close = last.close * factor
  return [
    ...calm,
    {
      openTime: last.openTime + 3_600_000,
      open: last.close,
      high: Math.max(last.close, close),
      low: Math.min(last.close, close),
      close,
      volume,
    },
  ]
}

test('usual volume says nothing, whatever the price does', () => {
  expect(momentumAfter(calm)).toBeCloseTo(0, 12)
})

test('a move on much volume counts its way, one on little against it', () => {
  expect(momentumAfter(endingWith(1.02, 400))).toBeGreaterThan(0.1)
  expect(momentumAfter(endingWith(0.98, 400))).toBeLessThan(-0.1)
  expect(momentumAfter(endingWith(1.02, 10))).toBeLessThan(-0.1)
})

test('cannot be measured without volume or before there are 51 bars', () => {
  expect(momentumAfter(walk.map((bar) => ({ ...bar, volume: 0 })))).toBeNaN()
  expect(momentumAfter(walk.slice(0, 50))).toBeNaN()
  expect(momentumAfter(walk.slice(0, 51))).not.toBeNaN()
})
