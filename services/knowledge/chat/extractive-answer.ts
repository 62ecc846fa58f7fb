import { LIMITS } from '../../../contracts/limits.ts'
import { blockText } from '../corpus/block-text.ts'
import { type Found, shortened } from '../search/find-sections.ts'
import type { SearchIndex, Understood } from '../search/search-index.ts'
import { quoteSection } from './quote-section.ts'

/** The quoted text, and its sections in the order of their numbers. */
export interface DraftAnswer {
  readonly answer: string
  readonly sections: readonly Found[]
}

/** A second section is quoted beside the best only where it fits nearly as well. */
const NEARLY = 0.8

/**
 * Answers with the section that fits best, word for word. A second one of the same page is quoted beside it where it says
 * something of the question that the first does not: two pages may put one thing in two ways. Nothing is made up, and
 * nothing is concluded either.
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
  const valueOf = index.valueOf(query)
  const sections = second !== undefined && isBeside(best, second, valueOf) ? [best, second] : [best]
  const quotes = sections.map(({ section: { blocks } }, place) => {
    const mark = ` [${place + 1}]`
    const quote = quoteSection(blocks, valueOf, LIMITS.chatExtractCharacters)
    return `${shortened(quote, LIMITS.chatAnswerCharacters / sections.length - mark.length - GAP.length)}${mark}`
  })
  return { answer: quotes.join(GAP), sections }
}

/** Whether a second section adds to the best what a question names. */
function isBeside(best: Found, second: Found, valueOf: (text: string) => number): boolean {
  if (second.section.page !== best.section.page || second.score < NEARLY * best.score) return false
  const textOf = ({ section: { heading, blocks } }: Found): string =>
    [heading, ...blocks.map(blockText)].join('\n')
  return valueOf(`${textOf(best)}\n${textOf(second)}`) > valueOf(textOf(best))
}

const GAP = '\n\n'
