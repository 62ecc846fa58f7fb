import { studentQuantile95 } from '../../contracts/domain/statistics.ts'

/** A measured number with its 95 % interval. */
export interface Measure {
  readonly value: number
  readonly low: number
  readonly high: number
}

const measure = (value: number, error: number, blocks: number): Measure => {
  const half = blocks < 2 ? Number.POSITIVE_INFINITY : error * studentQuantile95(blocks - 1)
  return { value, low: value - half, high: value + half }
}

const squares = (sums: Iterable<number>): number => {
  let total = 0
  for (const sum of sums) total += sum * sum
  return total
}

/** Mean of values that depend on one another within a block and not across blocks. */
export function blockMean(values: readonly number[], blocks: readonly number[]): Measure {
  const count = values.length
  const mean = values.reduce((sum, value) => sum + value, 0) / count
  const sums = new Map<number, number>()
  for (const [place, value] of values.entries()) {
    const block = blocks[place] ?? 0
    sums.set(block, (sums.get(block) ?? 0) + value - mean)
  }
  return measure(mean, Math.sqrt(squares(sums.values())) / count, sums.size)
}

/** Area under the ROC curve: each case is replaced by its share of the other class that it beats, then block means. */
export function areaUnder(
  scores: readonly number[],
  isUp: readonly boolean[],
  blocks: readonly number[],
): Measure {
  const order = scores.map((_, place) => place).toSorted((a, b) => (scores[a] ?? 0) - (scores[b] ?? 0))
  const ups = isUp.filter(Boolean).length
  const downs = isUp.length - ups
  const beats = new Float64Array(scores.length)
  let [upsBelow, downsBelow] = [0, 0]
  for (let at = 0; at < order.length; ) {
    const tied = [order[at] ?? 0]
    while (scores[order[at + tied.length] ?? -1] === scores[tied[0] ?? 0])
      tied.push(order[at + tied.length] ?? 0)
    const upsTied = tied.filter((place) => isUp[place]).length
    const downsTied = tied.length - upsTied
    for (const place of tied)
      beats[place] = isUp[place] ? (downsBelow + downsTied / 2) / downs : 1 - (upsBelow + upsTied / 2) / ups
    upsBelow += upsTied
    downsBelow += downsTied
    at += tied.length
  }
  let value = 0
  for (const [place, up] of isUp.entries()) if (up) value += (beats[place] ?? 0) / ups
  const sums = new Map<number, number>()
  for (const [place, up] of isUp.entries()) {
    const block = blocks[place] ?? 0
    sums.set(block, (sums.get(block) ?? 0) + ((beats[place] ?? 0) - value) / (up ? ups : downs))
  }
  return measure(value, Math.sqrt(squares(sums.values())), sums.size)
}

/** Solves a system of linear equations, by elimination with pivots. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const size = right.length
  const rows = matrix.map((row, index) => [...row, right[index] ?? 0])
  const cell = (row: number, column: number): number => rows[row]?.[column] ?? 0
  for (let pivot = 0; pivot < size; pivot++) {
    let best = pivot
    for (let row = pivot + 1; row < size; row++)
      if (Math.abs(cell(row, pivot)) > Math.abs(cell(best, pivot))) best = row
    const swapped = rows[best] as number[]
    rows[best] = rows[pivot] as number[]
    rows[pivot] = swapped
    for (let row = pivot + 1; row < size; row++) {
      const factor = cell(row, pivot) / cell(pivot, pivot)
      const target = rows[row] as number[]
      for (let column = pivot; column <= size; column++)
        target[column] = cell(row, column) - factor * cell(pivot, column)
    }
  }
  const found = Array.from({ length: size }, () => 0)
  for (let row = size - 1; row >= 0; row--) {
    let sum = cell(row, size)
    for (let column = row + 1; column < size; column++) sum -= cell(row, column) * (found[column] ?? 0)
    found[row] = sum / cell(row, row)
  }
  return found
}

/** Inputs of a row, and how the fit moves with it: the gradient and the curvature of its likelihood at a linear score. */
export interface Row {
  readonly inputs: readonly number[]
  readonly slope: (score: number) => { readonly gradient: number; readonly curvature: number }
}

/**
 * Newton's method for a likelihood of a linear score, with a ridge penalty.
 *
 * @param ridge for each row, of each weight
 * @param longest step, so that a far start does not leap
 */
export function fitWeights(
  rows: readonly Row[],
  start: readonly number[],
  ridge: readonly number[],
  longest: number,
): number[] {
  let weights = [...start]
  const size = weights.length
  for (let step = 0; step < 30; step++) {
    const gradient = Array.from({ length: size }, () => 0)
    const curvature = Array.from({ length: size }, () => Array.from({ length: size }, () => 0))
    for (const { inputs, slope } of rows) {
      let score = 0
      for (let a = 0; a < size; a++) score += (weights[a] ?? 0) * (inputs[a] ?? 0)
      const { gradient: g, curvature: c } = slope(score)
      for (let a = 0; a < size; a++) {
        const input = inputs[a] ?? 0
        if (input === 0) continue
        gradient[a] = (gradient[a] ?? 0) + g * input
        const row = curvature[a] as number[]
        for (let b = 0; b < size; b++) row[b] = (row[b] ?? 0) + c * input * (inputs[b] ?? 0)
      }
    }
    for (let a = 0; a < size; a++) {
      const penalty = (ridge[a] ?? 0) * rows.length
      gradient[a] = (gradient[a] ?? 0) - penalty * (weights[a] ?? 0)
      const row = curvature[a] as number[]
      row[a] = (row[a] ?? 0) + penalty
    }
    const change = solve(curvature, gradient)
    const largest = Math.max(...change.map(Math.abs))
    const share = Math.min(1, longest / largest)
    weights = weights.map((weight, a) => weight + share * (change[a] ?? 0))
    if (largest < 1e-9) break
  }
  return weights
}
