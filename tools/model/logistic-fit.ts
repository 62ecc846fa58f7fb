/** A logistic model: P(1) = 1 / (1 + e^−(intercept + coefficients · x)). */
export interface LogisticFit {
  readonly intercept: number
  readonly coefficients: readonly number[]
}

/** Rows of finite numbers, one after another, with a 1 or a 0 for each row. */
export interface LogisticRows {
  readonly columns: number
  readonly inputs: Float64Array
  readonly outcomes: Uint8Array
}

const NEWTON_STEPS = 30
const CONVERGED = 1e-10

/** Solves a symmetric positive definite system by Gaussian elimination; `matrix` and `right` are used up. */
export function solve(matrix: Float64Array, right: Float64Array): Float64Array {
  const size = right.length
  const at = (row: number, column: number): number => matrix[row * size + column] ?? Number.NaN
  for (let pivot = 0; pivot < size; pivot++) {
    for (let row = pivot + 1; row < size; row++) {
      const factor = at(row, pivot) / at(pivot, pivot)
      for (let column = pivot; column < size; column++) {
        matrix[row * size + column] = at(row, column) - factor * at(pivot, column)
      }
      right[row] = (right[row] ?? 0) - factor * (right[pivot] ?? 0)
    }
  }
  for (let row = size - 1; row >= 0; row--) {
    let rest = right[row] ?? 0
    for (let column = row + 1; column < size; column++) rest -= at(row, column) * (right[column] ?? 0)
    right[row] = rest / at(row, row)
  }
  return right
}

/** Adds what the rows say to the gradient and the upper triangle of the curvature; column 0 is the intercept. */
function accumulate(
  { columns, inputs, outcomes }: LogisticRows,
  weights: Float64Array,
  gradient: Float64Array,
  curvature: Float64Array,
): void {
  const size = columns + 1
  const padded = new Float64Array(size).fill(1, 0, 1)
  for (let row = 0; row < outcomes.length; row++) {
    let score = weights[0] ?? 0
    for (let index = 1; index < size; index++) {
      const value = inputs[row * columns + index - 1] ?? 0
      padded[index] = value
      score += (weights[index] ?? 0) * value
    }
    const probability = 1 / (1 + Math.exp(-score))
    const residual = (outcomes[row] ?? 0) - probability
    const certainty = probability * (1 - probability)
    for (let index = 0; index < size; index++) {
      const value = padded[index] ?? 0
      gradient[index] = (gradient[index] ?? 0) + residual * value
      const weighted = certainty * value
      for (let other = index; other < size; other++) {
        const place = index * size + other
        curvature[place] = (curvature[place] ?? 0) + weighted * (padded[other] ?? 0)
      }
    }
  }
}

/**
 * Fits a logistic model by Newton's method. The ridge penalty falls on the coefficients, not the intercept.
 *
 * @param rows standardised; at least one
 * @param ridge weight of half the squared coefficients against the summed log-likelihood
 * @example
 * const rows = { columns: 1, inputs: Float64Array.of(0, 1, 0, 1), outcomes: Uint8Array.of(0, 1, 1, 1) }
 * fitLogistic(rows, 1).coefficients.length === 1
 */
export function fitLogistic(rows: LogisticRows, ridge: number): LogisticFit {
  const size = rows.columns + 1
  const weights = new Float64Array(size)
  for (let step = 0; step < NEWTON_STEPS; step++) {
    const gradient = new Float64Array(size)
    const curvature = new Float64Array(size * size)
    accumulate(rows, weights, gradient, curvature)
    for (let index = 0; index < size; index++) {
      for (let other = 0; other < index; other++) {
        curvature[index * size + other] = curvature[other * size + index] ?? 0
      }
      if (index === 0) continue
      gradient[index] = (gradient[index] ?? 0) - ridge * (weights[index] ?? 0)
      curvature[index * size + index] = (curvature[index * size + index] ?? 0) + ridge
    }
    const change = solve(curvature, gradient)
    let largest = 0
    for (let index = 0; index < size; index++) {
      weights[index] = (weights[index] ?? 0) + (change[index] ?? 0)
      largest = Math.max(largest, Math.abs(change[index] ?? 0))
    }
    if (largest < CONVERGED) break
  }
  const [intercept = 0, ...coefficients] = weights
  return { intercept, coefficients }
}
