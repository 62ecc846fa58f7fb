/** A stretch of time, half open. Unix milliseconds. */
export interface Span {
  readonly from: number
  readonly until: number
}

/** A recording that could serve a stretch of time. */
export interface Candidate extends Span {
  readonly isSpot: boolean
  /** Length of its bars: of two that are otherwise equal, longer bars are nearer to what is wanted. */
  readonly barMs: number
  /** Decides between equals. */
  readonly name: string
}

/** A stretch of time and the recording that serves it. */
export interface Cover<Recording extends Candidate> extends Span {
  readonly recording: Recording
}

/**
 * Shares out time among recordings that overlap, so that no moment counts twice: a perpetual contract goes
 * before spot, a longer recording before a shorter one, and each of the others fills what is still bare.
 *
 * @param shortest stretches shorter than this, in milliseconds, are left bare
 * @returns in order of time
 * @example coverTime([{ from: 0, until: 9, isSpot: true, … }, { from: 4, until: 6, isSpot: false, … }], 1)
 * // spot from 0 to 4, the perpetual contract from 4 to 6, spot from 6 to 9
 */
export function coverTime<Recording extends Candidate>(
  recordings: readonly Recording[],
  shortest: number,
): Cover<Recording>[] {
  const taken: Cover<Recording>[] = []
  for (const recording of recordings.toSorted(byPreference)) {
    for (const { from, until } of bareParts(recording, taken)) {
      if (until - from >= shortest) taken.push({ from, until, recording })
    }
    taken.sort((a, b) => a.from - b.from)
  }
  return taken
}

function byPreference(a: Candidate, b: Candidate): number {
  if (a.isSpot !== b.isSpot) return a.isSpot ? 1 : -1
  return b.until - b.from - (a.until - a.from) || b.barMs - a.barMs || (a.name < b.name ? -1 : 1)
}

/** Parts of a span outside the given stretches, which are in order of time and do not overlap. */
function bareParts(span: Span, taken: readonly Span[]): Span[] {
  const bare: Span[] = []
  let from = span.from
  for (const { from: start, until } of taken) {
    if (start > from) bare.push({ from, until: Math.min(start, span.until) })
    from = Math.max(from, until)
    if (from >= span.until) return bare.filter((part) => part.until > part.from)
  }
  bare.push({ from, until: span.until })
  return bare.filter((part) => part.until > part.from)
}
