import type { Direction } from '../../../services/engine/call-trigger.ts'

/**
 * Share of the bars under a label after which the close had moved the label's way. A close that had not
 * moved counts as wrong.
 *
 * @param labels one per bar, as `closes`
 * @param after bars between the label and the close it is judged by
 * @returns NaN where no judged bar has the label
 * @example directionHitShare([5, 6, 7, 6], [1, 1, 1, 0], 1, 1) // 2 of 3
 */
export function directionHitShare(
  closes: readonly number[],
  labels: readonly Direction[],
  direction: 1 | -1,
  after: number,
): number {
  let labelled = 0
  let hits = 0
  for (let index = 0; index + after < closes.length; index++) {
    if (labels[index] !== direction) continue
    labelled += 1
    const move = (closes[index + after] ?? Number.NaN) - (closes[index] ?? Number.NaN)
    if (Math.sign(move) === direction) hits += 1
  }
  return hits / labelled
}
