import { isoTime } from '../../../contracts/iso-time.ts'
import { seriesName } from '../../../contracts/series.ts'
import { countText } from '../../../contracts/share-text.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import type { Findings } from './finding.ts'

/** How a verdict comes out when it is computed again; a text says why it cannot be. */
export type Recomputation =
  | string
  | {
      /** Fields that come out otherwise. */
      readonly differences: readonly string[]
      /** Whether it was computed from the very bars that there are now. */
      readonly hasSameInputs: boolean
    }

/** Verdicts that are computed again. */
const SAMPLE = 50
/** A venue that corrects a volume changes every verdict after it a little, and the call of hardly any. */
const FEWEST_OTHER_CALLS = 5
const MOST_OTHER_CALLS = 0.1

interface Drawn {
  readonly index: number
  readonly verdict: Verdict
}

/** Draws verdicts by the auditor's chance, so that nobody knows beforehand which ones have to be right. */
export class Sample {
  readonly #random: () => number
  readonly #drawn: Drawn[] = []
  #seen = 0

  /** @param random at least 0, below 1 */
  constructor(random: () => number) {
    this.#random = random
  }

  take(one: Drawn): void {
    this.#seen += 1
    if (this.#drawn.length < SAMPLE) {
      this.#drawn.push(one)
      return
    }
    const place = Math.floor(this.#random() * this.#seen)
    if (place < SAMPLE) this.#drawn[place] = one
  }

  /** Computes them again. */
  async check(
    recompute: (drawn: Drawn) => Promise<Recomputation>,
    findings: Findings,
    onProgress: (done: number, all: number) => void,
  ): Promise<{ readonly same: number; readonly doubts: string[]; readonly unchecked: string[] }> {
    const without = new Map<string, number>()
    const otherwise: (Drawn & { readonly differences: readonly string[] })[] = []
    let same = 0
    for (const [index, one] of this.#drawn.entries()) {
      onProgress(index, this.#drawn.length)
      const found = await recompute(one)
      if (typeof found === 'string') without.set(found, (without.get(found) ?? 0) + 1)
      else if (found.differences.length === 0) same += 1
      else if (found.hasSameInputs) accuse(findings, { ...one, differences: found.differences })
      else otherwise.push({ ...one, differences: found.differences })
    }
    const otherCalls = otherwise.filter(({ differences }) => differences.includes('call'))
    const isMuch =
      otherCalls.length >= FEWEST_OTHER_CALLS &&
      otherCalls.length > MOST_OTHER_CALLS * (same + otherwise.length)
    if (isMuch) for (const one of otherCalls) accuse(findings, one)
    const of = (count: number) => `${countText(count, 'verdict')} of the sample`
    return {
      same,
      doubts:
        otherwise.length === 0
          ? []
          : [`recomputed otherwise from the bars of today: ${of(otherwise.length)}`],
      unchecked: [...without].map(([why, count]) => `${of(count)}: ${why}`),
    }
  }
}

function accuse(
  findings: Findings,
  { index, verdict, differences }: Drawn & { readonly differences: readonly string[] },
): void {
  const name = `${seriesName(verdict)} at ${isoTime(verdict.barClose)}`
  const fields = differences.join(', ')
  findings.add(
    'made_up_verdict',
    index,
    `${name}: computed again from its bars, ${fields} comes out otherwise`,
  )
}
