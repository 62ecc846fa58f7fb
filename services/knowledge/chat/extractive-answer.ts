import { LIMITS } from '../../../contracts/limits.ts'
import { type Found, shortened } from '../search/find-sections.ts'
import type { SearchIndex, Understood } from '../search/search-index.ts'
import { quoteSection } from './quote-section.ts'

/** The quoted text, and its sections in the order of their numbers. */
export interface DraftAnswer {
  readonly answer: string
  readonly sections: readonly Found[]
}

/** A second section is quoted beside the best where it fits nearly as well: the words of a question may mean either. */
const NEARLY = 0.8

/**
 * Answers with the section that fits best, word for word, and with a second one where that fits nearly as well. Nothing is
 * made up, and nothing is concluded either.
 *
 * @param found those that fit, the best first; at least one
 */
export function extractiveAnswer(
  index: SearchIndex,
  query: Understood,
  found: readonly Found[],
): DraftAnswer {
  const [best, second] = found
  if (best === undefined) return { answer: '', sections: [] }
  const isBeside = second !== undefined && second.score >= NEARLY * best.score
  const sections = isBeside ? [best, second] : [best]
  const valueOf = index.valueOf(query)
  const quotes = sections.map(({ section: { blocks } }, place) => {
    const mark = ` [${place + 1}]`
    const quote = quoteSection(blocks, valueOf, LIMITS.chatExtractCharacters)
    return `${shortened(quote, LIMITS.chatAnswerCharacters / sections.length - mark.length - GAP.length)}${mark}`
  })
  return { answer: quotes.join(GAP), sections }
}

const GAP = '\n\n'
