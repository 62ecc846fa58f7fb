import { LIMITS } from '../../../contracts/limits.ts'
import { type Found, shortened } from '../search/find-sections.ts'
import type { SearchIndex, Understood } from '../search/search-index.ts'
import { quoteSection } from './quote-section.ts'

/** What was taken from the sections: those in the order of their numbers, and the text with them. */
export interface DraftAnswer {
  readonly answer: string
  readonly sections: readonly Found[]
}

const MARK = ' [1]'

/**
 * Answers with the section that fits best, word for word. Nothing is made up, and nothing is concluded either.
 *
 * @param sections those that fit, the best first; at least one
 */
export function extractiveAnswer(
  index: SearchIndex,
  query: Understood,
  sections: readonly Found[],
): DraftAnswer {
  const [best] = sections
  if (best === undefined) return { answer: '', sections: [] }
  const quote = quoteSection(best.section.blocks, index.valueOf(query), LIMITS.chatExtractCharacters)
  return { answer: `${shortened(quote, LIMITS.chatAnswerCharacters - MARK.length)}${MARK}`, sections: [best] }
}
