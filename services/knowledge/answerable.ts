import type { Asked } from './asked.ts'
import { type Hit, stemOf, wordsOf } from './search.ts'
import type { Section } from './sections.ts'

/** A logistic regression over the labelled questions that were looked at. */
const WEIGHTS = { bias: -2.1, coverage: 8.35, logOdds: 1.74 }

export type IsAnswerable = (question: string, best: Pick<Hit, 'coverage'>) => boolean

/**
 * Decides whether the documentation answers a question. It does if its best section has most of the words, and if the
 * wording resembles the answered ones more than those that no page answers (naive Bayes over words and pairs of words).
 */
export function createAnswerability(
  sections: readonly Section[],
  { bySection, unanswered }: Asked,
): IsAnswerable {
  const answered = [...sections.map(({ heading }) => heading), ...bySection.values()].flat()
  const logOddsOf = createLogOdds(answered, unanswered)
  return (question, { coverage }) =>
    WEIGHTS.bias + WEIGHTS.coverage * coverage + WEIGHTS.logOdds * logOddsOf(question) >= 0
}

/** Log-odds of answered against unanswered, divided by the root of the length: a long question is not surer. */
function createLogOdds(
  answered: readonly string[],
  unanswered: readonly string[],
): (question: string) => number {
  if (answered.length === 0 || unanswered.length === 0) return () => 0
  const [inAnswered, inUnanswered] = [countParts(answered), countParts(unanswered)]
  const shareOf = (count = 0, all: number): number => (count + 0.5) / (all + 1)
  return (question) => {
    const parts = partsOf(question)
    const known = [...new Set(parts)].filter((part) => inAnswered.has(part) || inUnanswered.has(part))
    const odds = known.map(
      (part) =>
        shareOf(inAnswered.get(part), answered.length) / shareOf(inUnanswered.get(part), unanswered.length),
    )
    return odds.reduce((sum, one) => sum + Math.log(one), 0) / Math.sqrt(Math.max(1, parts.length))
  }
}

/** Wordings that have each part. */
function countParts(wordings: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const part of wordings.flatMap((wording) => [...new Set(partsOf(wording))]))
    counts.set(part, (counts.get(part) ?? 0) + 1)
  return counts
}

/** The stems of a text, and each pair of neighbours: "how many" and "how long" ask for different things. */
function partsOf(text: string): string[] {
  const stems = wordsOf(text).map(stemOf)
  return [...stems, ...stems.slice(1).map((stem, at) => `${stems[at]} ${stem}`)]
}
