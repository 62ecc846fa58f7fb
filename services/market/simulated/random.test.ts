import { describe, expect, it } from 'vitest'
import { createRandom, hashText, type Random, seedAt } from './random.ts'

const draw = (count: number, seed: number, kind: keyof Random): number[] => {
  const random = createRandom(seed)
  return Array.from({ length: count }, () => random[kind]())
}

const moment = (values: readonly number[], power: number): number =>
  values.reduce((sum, value) => sum + value ** power, 0) / values.length

describe('createRandom', () => {
  it('gives the same numbers for the same seed on every machine, and others for another', () => {
    const random = createRandom(hashText('a'))
    expect([random.uniform(), random.normal()]).toEqual([0.5490412397775799, -1.69189453125])
    expect(draw(9, 1, 'uniform')).toEqual(draw(9, 1, 'uniform'))
    expect(draw(9, 1, 'uniform')).not.toEqual(draw(9, 2, 'uniform'))
  })

  it('draws uniform numbers', () => {
    const values = draw(100_000, 7, 'uniform')
    expect(moment(values, 1)).toBeCloseTo(0.5, 2)
    expect(moment(values, 2)).toBeCloseTo(1 / 3, 2)
    expect(Math.max(...values.slice(0, 10_000))).toBeLessThan(1)
  })

  it('draws normal numbers', () => {
    const values = draw(200_000, 7, 'normal')
    expect(moment(values, 1)).toBeCloseTo(0, 1)
    expect(moment(values, 2)).toBeCloseTo(1, 1)
    expect(moment(values, 3)).toBeCloseTo(0, 1)
    expect(Math.abs(moment(values, 4) - 3)).toBeLessThan(0.1)
  })
})

describe('seedAt', () => {
  it('gives neighbours unlike seeds', () => {
    const values = Array.from({ length: 50_000 }, (_, index) => createRandom(seedAt(5, index)).normal())
    const products = values.slice(1).map((value, index) => value * (values[index] ?? 0))
    expect(moment(products, 1)).toBeCloseTo(0, 1)
    expect(new Set(Array.from({ length: 10_000 }, (_, index) => seedAt(5, index))).size).toBe(10_000)
  })
})
