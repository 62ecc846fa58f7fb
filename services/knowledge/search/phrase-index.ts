/** A text of a section, and how much it counts beside a wording in which the section is asked for. */
export type SharedText = readonly [text: string, share: number]

/** Long sections say more by chance: their sums are divided by the length of the vector, to this power. */
const LENGTH = 0.7

/**
 * How near a question is to a section by its words and by its pairs of neighbouring words, the small ones among them: `how
 * many` and `how long` ask for different things, of which their telling words know nothing.
 */
export class PhraseIndex {
  /** By word or pair: sections that have it, each with its share of the sum there. */
  readonly #places = new Map<string, (readonly [row: number, share: number])[]>()
  readonly #count: number

  constructor(sections: readonly (readonly SharedText[])[]) {
    this.#count = sections.length
    const counted = sections.map(countedParts)
    const rows = new Map<string, number>()
    for (const part of counted.flatMap((one) => [...one.keys()])) rows.set(part, (rows.get(part) ?? 0) + 1)
    const weightIn = (part: string, count: number): number => Math.log1p(count) * this.#tells(rows.get(part))
    for (const [row, parts] of counted.entries()) {
      const weights = [...parts].map(([part, count]) => [part, weightIn(part, count)] as const)
      const length = Math.hypot(...weights.map(([, weight]) => weight)) ** LENGTH
      for (const [part, weight] of weights) {
        const places = this.#places.get(part) ?? []
        places.push([row, weight / length])
        this.#places.set(part, places)
      }
    }
  }

  /** By section, 0 to 1: the nearest has 1, and sections with nothing of it are left out. */
  nearness(question: string): ReadonlyMap<number, number> {
    const sums = new Map<number, number>()
    for (const part of new Set(partsOf(question))) {
      const places = this.#places.get(part) ?? []
      const weight = this.#tells(places.length)
      for (const [row, share] of places) sums.set(row, (sums.get(row) ?? 0) + weight * share)
    }
    const most = Math.max(...sums.values())
    return new Map([...sums].map(([row, sum]) => [row, sum / most]))
  }

  /** How much a word or pair tells that so many sections have. */
  #tells(rows = 0): number {
    return rows === 0 ? 0 : Math.log1p(this.#count / rows)
  }
}

/**
 * Tells whether a question sounds like those that are answered, above 0, or like those that no page answers: naive Bayes
 * over words and pairs, by the root of their number, so that a long question is not surer than a short one.
 *
 * @returns 0 for every question where there are none of either
 */
export function createLeaning(
  answered: readonly string[],
  unanswered: readonly string[],
): (question: string) => number {
  const uses = (wordings: readonly string[]): Map<string, number> => {
    const counted = new Map<string, number>()
    for (const part of wordings.flatMap((wording) => [...new Set(partsOf(wording))]))
      counted.set(part, (counted.get(part) ?? 0) + 1)
    return counted
  }
  if (answered.length === 0 || unanswered.length === 0) return () => 0
  const [ofAnswered, ofOthers] = [uses(answered), uses(unanswered)]
  const shareOf = (count = 0, all: number): number => (count + 0.5) / (all + 1)
  return (question) => {
    const parts = [...new Set(partsOf(question))]
    const known = parts.filter((part) => ofAnswered.has(part) || ofOthers.has(part))
    const odds = known.map(
      (part) =>
        shareOf(ofAnswered.get(part), answered.length) / shareOf(ofOthers.get(part), unanswered.length),
    )
    return (
      odds.reduce((sum, one) => sum + Math.log(one), 0) / Math.sqrt(Math.max(1, partsOf(question).length))
    )
  }
}

function countedParts(texts: readonly SharedText[]): Map<string, number> {
  const counted = new Map<string, number>()
  for (const [text, share] of texts) {
    for (const part of partsOf(text)) counted.set(part, (counted.get(part) ?? 0) + share)
  }
  return counted
}

/** The words of a text without their endings, and each two that stand side by side. */
function partsOf(text: string): string[] {
  const words = (
    text
      .toLowerCase()
      .replaceAll(/['’]/g, '')
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).map((word) => word.replace(/(?:ing|ed|ies|es|s|ly)$/, ''))
  return [...words, ...words.slice(1).map((word, place) => `${words[place]} ${word}`)]
}
