import { DAY_MS } from '../../../contracts/timeframes.ts'

/** How restless a label is. */
export interface LabelChanges {
  /** Changes per day of bars. */
  readonly perDay: number
  /** Share of changes after which the label was back where it had been within 10 bars; NaN without changes. */
  readonly undoneShare: number
}

export const UNDONE_WITHIN_BARS = 10

/**
 * Counts the changes of a label.
 *
 * @param labels one per bar
 * @param barMs length of a bar in milliseconds
 * @example labelChanges([0, 1, 0, 0], DAY_MS) // { perDay: 0.5, undoneShare: 0.5 }
 */
export function labelChanges(labels: readonly unknown[], barMs: number): LabelChanges {
  let changes = 0
  let undone = 0
  for (let index = 1; index < labels.length; index++) {
    const before = labels[index - 1]
    if (labels[index] === before) continue
    changes += 1
    if (labels.slice(index + 1, index + 1 + UNDONE_WITHIN_BARS).includes(before)) undone += 1
  }
  return { perDay: (changes * DAY_MS) / (labels.length * barMs), undoneShare: undone / changes }
}
