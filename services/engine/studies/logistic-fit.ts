/** A logistic model: P(1) = 1 / (1 + e^−(intercept + coefficients · x)). */
export interface LogisticFit {
  readonly intercept: number
  readonly coefficients: readonly number[]
}

const NEWTON_STEPS = 30
const CONVERGED = 1e-10

/** Solves a symmetric positive definite system by Gaussian elimination; `matrix` and `right` are used up. */
function solve(matrix: Float64Array[], right: Float64Array): Float64Array {
  const size = right.length
  const at = (row: number, column: number): number => matrix[row]?.[column] ?? Number.NaN
  for (let pivot = 0; pivot < size; pivot++) {
    for (let row = pivot + 1; row < size; row++) {
      const factor = at(row, pivot) / at(pivot, pivot)
      for (let column = pivot; column < size; column++) {
        matrix[row]?.fill(at(row, column) - factor * at(pivot, column), column, column + 1)
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

/**
 * Fits a logistic model by Newton's method. The ridge penalty falls on the coefficients, not the intercept.
 *
 * @param inputs rows of finite numbers, all of one length, standardised
 * @param outcomes 1 or 0 per row
 * @param ridge weight of half the squared coefficients against the summed log-likelihood
 * @example fitLogistic([[0], [1], [0], [1]], [0, 1, 1, 1], 1).coefficients.length === 1
 */
export function fitLogistic(
  inputs: readonly (readonly number[])[],
  outcomes: readonly number[],
  ridge: number,
): LogisticFit {
  const size = (inputs[0]?.length ?? 0) + 1
  const weights = new Float64Array(size)
  for (let step = 0; step < NEWTON_STEPS; step++) {
    const gradient = new Float64Array(size)
    const curvature = Array.from({ length: size }, () => new Float64Array(size))
    for (const [row, input] of inputs.entries()) {
      const padded = [1, ...input]
      let score = 0
      for (const [index, value] of padded.entries()) score += (weights[index] ?? 0) * value
      const probability = 1 / (1 + Math.exp(-score))
      const residual = (outcomes[row] ?? 0) - probability
      const certainty = probability * (1 - probability)
      for (let index = 0; index < size; index++) {
        const value = padded[index] ?? 0
        gradient[index] = (gradient[index] ?? 0) + residual * value
        const line = curvature[index]
        if (line === undefined) continue
        for (let other = 0; other < size; other++) {
          line[other] = (line[other] ?? 0) + certainty * value * (padded[other] ?? 0)
        }
      }
    }
    for (let index = 1; index < size; index++) {
      gradient[index] = (gradient[index] ?? 0) - ridge * (weights[index] ?? 0)
      const line = curvature[index]
      if (line !== undefined) line[index] = (line[index] ?? 0) + ridge
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
