/** How a log can cheat, and what to do next. */
export const FRAUDS = {
  edited_verdict:
    'an entry shows other content than it commits to, or none although its window has closed. Compare it with a copy from before',
  second_history:
    'the log does not continue what it signed before. Keep your earlier checkpoint and the newest one: both are signed, and together they prove it',
  backdated_verdict:
    'a verdict was recorded late without being marked so. Leave it out of the record, and count how many its series has',
  second_verdict: 'a bar has a second verdict. Count the first one only',
  dropped_bar:
    'a verdict names another one before it than the log has. Compute the verdicts between them from bars, and compare the record then',
  wrong_outcome: 'an outcome is not what became of its verdict. Compare the bars with those of the venue',
  unannounced_model:
    'a verdict was computed with a model whose file was not announced before. Leave its verdicts out of the record',
  flattering_track_record:
    'the published track record is not that of the outcomes. Count the outcomes yourself: the log has all of them',
} as const

export type Fraud = keyof typeof FRAUDS

/** Findings of one kind that are listed; the others are only counted. */
const MOST_LISTED = 20

/** Findings in the order in which they come. */
export class Findings {
  /** The index is that of the entry; null for a finding about the log as a whole. */
  readonly listed: { readonly fraud: Fraud; readonly index: number | null; readonly message: string }[] = []
  readonly counts: Partial<Record<Fraud, number>> = {}

  add(fraud: Fraud, index: number | null, message: string): void {
    const count = (this.counts[fraud] ?? 0) + 1
    this.counts[fraud] = count
    if (count <= MOST_LISTED) this.listed.push({ fraud, index, message })
  }
}
