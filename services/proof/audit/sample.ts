import { isoTime } from '../../../contracts/iso-time.ts'
import { seriesName } from '../../../contracts/series.ts'
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
/** Bars of today may differ from those of then in some verdicts, but not in each of so many. */
const FEWEST_TO_ACCUSE = 10

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

  take(index: number, verdict: Verdict): void {
    this.#seen += 1
    if (this.#drawn.length < SAMPLE) {
      this.#drawn.push({ index, verdict })
      return
    }
    const place = Math.floor(this.#random() * this.#seen)
    if (place < SAMPLE) this.#drawn[place] = { index, verdict }
  }

  /** Computes them again. */
  async check(
    recompute: (verdict: Verdict) => Promise<Recomputation>,
    findings: Findings,
  ): Promise<{ readonly same: number; readonly doubts: string[]; readonly unchecked: string[] }> {
    const without = new Map<string, number>()
    const otherwise: (Drawn & { readonly differences: readonly string[] })[] = []
    let same = 0
    for (const { index, verdict } of this.#drawn) {
      const found = await recompute(verdict)
      if (typeof found === 'string') without.set(found, (without.get(found) ?? 0) + 1)
      else if (found.differences.length === 0) same += 1
      else if (found.hasSameInputs) accuse(findings, { index, verdict, differences: found.differences })
      else otherwise.push({ index, verdict, differences: found.differences })
    }
    const isAll = same === 0 && otherwise.length >= FEWEST_TO_ACCUSE
    if (isAll) for (const one of otherwise) accuse(findings, one)
    const bars = 'come out otherwise from the bars of today'
    return {
      same,
      doubts: isAll || otherwise.length === 0 ? [] : [`${otherwise.length} verdicts of the sample ${bars}`],
      unchecked: [...without].map(([why, count]) => `${count} verdicts of the sample: ${why}`),
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
