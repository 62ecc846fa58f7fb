import { expect, test } from 'vitest'
import { seededRandom } from '../../testing/random-walk.ts'
import { fitLogistic, type LogisticRows } from './logistic-fit.ts'

const rowsOf = (inputs: readonly (readonly number[])[], outcomes: readonly number[]): LogisticRows => ({
  columns: inputs[0]?.length ?? 0,
  inputs: Float64Array.from(inputs.flat()),
  outcomes: Uint8Array.from(outcomes),
})

test('finds the coefficients that made the data', () => {
  const random = seededRandom(3)
  const inputs = Array.from({ length: 20_000 }, () => [4 * random() - 2, 4 * random() - 2])
  const outcomes = inputs.map(([a = 0, b = 0]) =>
    random() < 1 / (1 + Math.exp(-(0.3 + 0.8 * a - 0.5 * b))) ? 1 : 0,
  )
  const { intercept, coefficients } = fitLogistic(rowsOf(inputs, outcomes), 0)
  expect(intercept).toBeCloseTo(0.3, 1)
  expect(coefficients[0]).toBeCloseTo(0.8, 1)
  expect(coefficients[1]).toBeCloseTo(-0.5, 1)
})

test('a ridge pulls coefficients towards zero, not the intercept', () => {
  const inputs = [[-1], [-1], [1], [1], [1], [1]]
  const outcomes = [0, 0, 1, 1, 1, 1]
  const { intercept, coefficients } = fitLogistic(rowsOf(inputs, outcomes), 1e6)
  expect(coefficients[0]).toBeCloseTo(0, 4)
  expect(1 / (1 + Math.exp(-intercept))).toBeCloseTo(4 / 6, 4)
})
