/** How a log can cheat, and what to do next. */
export const FRAUDS = {
  edited_verdict: 'a recorded verdict was changed. Compare the entry with a copy from before',
  second_history:
    'the log does not continue what it was before. Keep the state of the former audit and this copy: together they prove it',
  backdated_verdict:
    'a verdict was recorded late, and does not say so. Leave it out of the record, and look how many there are of its series',
  dropped_bar:
    'a verdict follows on another than the one before it in the log. Compute those between from the bars, and compare the record then',
  second_log: 'the log is not the only one of its operator. Audit the others, too, and ask why there are two',
  wrong_outcome: 'an outcome is not what became of its verdict. Compare the bars with those of the venue',
  unannounced_model:
    'a verdict was computed with a model whose file was not announced before. Leave its verdicts out of the record',
  flattering_track_record:
    'the published track record is not that of the outcomes. Count the outcomes yourself: the log has all of them',
  withheld_content:
    'an entry is not shown although its window has closed. Ask for it again in an hour, and take it for a lost call where it stays away',
} as const

export type Fraud = keyof typeof FRAUDS

export interface Finding {
  readonly fraud: Fraud
  /** Index of the entry; null for a finding about the log as a whole. */
  readonly index: number | null
  readonly message: string
}

/** Findings of one kind that are listed; the others are only counted. */
const MOST_LISTED = 20

/** Findings as they come. */
export type Findings = ReturnType<typeof createFindings>

export function createFindings() {
  const listed: Finding[] = []
  const counts: Partial<Record<Fraud, number>> = {}
  return {
    add(fraud: Fraud, index: number | null, message: string): void {
      const count = (counts[fraud] ?? 0) + 1
      counts[fraud] = count
      if (count <= MOST_LISTED) listed.push({ fraud, index, message })
    },
    /** The listed findings, in the order in which they were found. */
    listed: (): readonly Finding[] => listed,
    /** How many there are of each kind. */
    counts: (): Readonly<Partial<Record<Fraud, number>>> => counts,
  }
}
