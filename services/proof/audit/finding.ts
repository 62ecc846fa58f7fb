/** What a log can cheat with, and what the audit calls it. */
export const FRAUDS = {
  edited_verdict: 'a recorded verdict was changed',
  second_history: 'the log does not continue what it was before',
  backdated_verdict: 'a verdict was recorded when its window had closed, and does not say so',
  dropped_bar: 'a closed bar has neither a verdict nor an entry that says why',
  second_log: 'the log is not the only one of its operator',
  wrong_outcome: 'an outcome is not what became of its verdict',
  unannounced_model: 'a verdict was computed with a model whose file was not announced before',
  flattering_track_record: 'the published track record is not that of the outcomes',
  replaced_file: 'a day was sealed again with other files, or its manifest is another one',
  withheld_content: 'an entry is not shown although its window has closed',
} as const

export type Fraud = keyof typeof FRAUDS

export interface Finding {
  readonly fraud: Fraud
  /** Of the entry; null for what is about the log as a whole. */
  readonly index: number | null
  readonly message: string
}

/** Of one kind so many are told one by one; the others are counted. */
const MOST_TOLD = 20

/** Findings as they come. */
export interface Findings {
  add(fraud: Fraud, index: number | null, message: string): void
  /** Those that are told, in the order in which they were found. */
  told(): readonly Finding[]
  /** How many there are of each kind. */
  counts(): Readonly<Partial<Record<Fraud, number>>>
}

export function createFindings(): Findings {
  const told: Finding[] = []
  const counts: Partial<Record<Fraud, number>> = {}
  return {
    add(fraud, index, message) {
      const count = (counts[fraud] ?? 0) + 1
      counts[fraud] = count
      if (count <= MOST_TOLD) told.push({ fraud, index, message })
    },
    told: () => told,
    counts: () => counts,
  }
}
