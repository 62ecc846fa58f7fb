import { setImmediate } from 'node:timers/promises'
import { LIMITS } from '../../../contracts/limits.ts'
import type { RowTable } from './row-tables.ts'

/** How the rows of two versions of a projection differ, at the same position of the log. */
export interface Comparison {
  readonly same: number
  readonly changed: number
  readonly added: number
  readonly removed: number
  /** Some of the keys that differ. */
  readonly sample: readonly string[]
}

/** Walks both tables in key order, side by side. Others have their turn now and then: a row of the tree has 14 KB. */
export async function compareTables(
  before: RowTable,
  after: RowTable,
  signal: AbortSignal,
): Promise<Comparison> {
  const counts = { same: 0, changed: 0, added: 0, removed: 0 }
  const sample: string[] = []
  const count = (kind: keyof typeof counts, key: string): void => {
    counts[kind] += 1
    if (kind !== 'same' && sample.length < LIMITS.projectionDifferences) sample.push(`${kind} ${key}`)
  }
  const [left, right] = [before.entries(), after.entries()]
  let [a, b] = [left.next(), right.next()]
  for (let steps = 1; a.done !== true || b.done !== true; steps++) {
    if (steps % (LIMITS.rowsPerPage / 10) === 0) {
      await setImmediate()
      signal.throwIfAborted()
    }
    if (b.done === true || (a.done !== true && a.value.key < b.value.key)) {
      if (a.done !== true) count('removed', a.value.key)
      a = left.next()
    } else if (a.done === true || b.value.key < a.value.key) {
      count('added', b.value.key)
      b = right.next()
    } else {
      count(a.value.row === b.value.row ? 'same' : 'changed', a.value.key)
      a = left.next()
      b = right.next()
    }
  }
  return { ...counts, sample }
}
