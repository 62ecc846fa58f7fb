import { LIMITS } from '../../../contracts/limits.ts'
import type { Section } from '../search/find-sections.ts'
import { shortened } from '../search/find-sections.ts'
import type { SearchIndex, Understood } from '../search/search-index.ts'

/** What was taken from the passages: the sections in the order of their numbers, and the text with them. */
export interface DraftAnswer {
  readonly answer: string
  readonly sections: readonly Section[]
}

/** Sections an answer is taken from, and sentences of the first and of each other. */
const SECTIONS = 3
const SENTENCES_OF_FIRST = 3
const SENTENCES_OF_OTHERS = 1
/** A further section is quoted where it fits nearly as well as the best. */
const NEARLY = 0.6

/**
 * Answers with the sentences that fit best, word for word, in the order in which they stand. Nothing is made up, and
 * nothing is concluded either.
 *
 * @param sections those that fit, the best first; at least one
 */
export function extractiveAnswer(
  index: SearchIndex,
  query: Understood,
  sections: readonly Section[],
): DraftAnswer {
  const [best] = sections
  const cited = sections.slice(0, SECTIONS).filter(({ score }) => score >= NEARLY * (best?.score ?? 0))
  const parts = cited.map((section, place) => {
    const sentences = bestSentences(
      index,
      query,
      section,
      place === 0 ? SENTENCES_OF_FIRST : SENTENCES_OF_OTHERS,
    )
    return `${sentences.map(asSentence).join(' ')} [${place + 1}]`
  })
  return { answer: shortened(parts.join('\n\n'), LIMITS.chatAnswerCharacters), sections: cited }
}

/** Under a heading that fits, the first sentence says most; the others are those with the words of the question. */
function bestSentences(
  index: SearchIndex,
  query: Understood,
  { row, passage: { sentences } }: Section,
  count: number,
): string[] {
  const fitting = index.sentences(row, query)
  const wanted = [...new Set(count > 1 || fitting.length === 0 ? [0, ...fitting] : fitting)].slice(0, count)
  // What ends in a colon says something only with what comes behind it.
  const places = new Set(
    wanted.flatMap((place) => (sentences[place]?.endsWith(':') ? [place, place + 1] : [place])),
  )
  return [...places].toSorted((a, b) => a - b).flatMap((place) => sentences[place] ?? [])
}

const asSentence = (text: string): string => (/[.!?:]$/.test(text) ? text : `${text}.`)
