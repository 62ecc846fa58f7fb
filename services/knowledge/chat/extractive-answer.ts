import { LIMITS } from '../../../contracts/limits.ts'
import type { Section } from '../search/find-sections.ts'
import { shortened } from '../search/find-sections.ts'
import type { SearchIndex, Understood } from '../search/search-index.ts'
import { subjectOf } from './definitions.ts'
import { type Quote, quoteSection } from './quote-section.ts'
import { definesIn } from './quote-stretch.ts'

/** What was taken from the passages: the sections in the order of their numbers, and the text with them. */
export interface DraftAnswer {
  readonly answer: string
  readonly sections: readonly Section[]
}

export interface ExtractiveAnswer extends DraftAnswer {
  /** How much of the question the best quote says, 0 to 1. */
  readonly coverage: number
}

/** A section is quoted beside the best one where it fits nearly as well, and says this share of the query anew. */
const NEARLY = 0.6
const LEAST_NEW = 0.3
const LEAST_SAID_BESIDE = 0.35
/** Sections that are quoted from on trial, and how much it counts what their quotes say of the question. */
const TRIED = 4
const FOR_FITTING = 0.5
/** A definition is taken from a section that fits this well beside the best. */
const DEFINES_NEARLY = 0.5

/**
 * Answers with whole sentences of the best section, word for word and in the order in which they stand, and with those
 * of a second one where it says what the first does not. Nothing is made up, and nothing is concluded either.
 *
 * @param sections those that fit, the best first; at least one
 */
export function extractiveAnswer(
  index: SearchIndex,
  question: string,
  query: Understood,
  sections: readonly Section[],
): ExtractiveAnswer {
  const subject = subjectOf(question, query)
  const ordered = bestFirst(index, query, subject, sections)
  const [best] = ordered
  if (best === undefined) return { answer: '', sections: [], coverage: 0 }
  const first = quoteSection(index, query, best, { room: LIMITS.chatExtractCharacters, subject })
  const quotes: Quote[] = [first]
  const cited = [best]
  const second = otherSection(index, query, ordered, first)
  if (second !== undefined) {
    quotes.push(second.quote)
    cited.push(second.section)
  }
  const answer = quotes.map(({ text }, place) => `${text} [${place + 1}]`).join('\n\n')
  const coverage = Math.max(...quotes.map((quote) => quote.coverage))
  return { answer: shortened(answer, LIMITS.chatAnswerCharacters), sections: cited, coverage }
}

/**
 * The section to quote first, and the others behind it: where a meaning is asked for, one that defines it, and else the
 * one whose quote says most of the question, among those that fit best.
 */
function bestFirst(
  index: SearchIndex,
  query: Understood,
  subject: readonly number[] | undefined,
  sections: readonly Section[],
): readonly Section[] {
  const least = DEFINES_NEARLY * (sections[0]?.score ?? 0)
  const defining =
    subject && sections.find((section) => section.score >= least && definesIn(index, query, section, subject))
  if (defining !== undefined) return [defining, ...sections.filter((one) => one !== defining)]
  const tried = sections.slice(0, TRIED).map((section) => {
    const { coverage } = quoteSection(index, query, section, { room: LIMITS.chatExtractCharacters })
    return { section, fit: section.score * (FOR_FITTING + coverage) }
  })
  const ordered = tried.toSorted((a, b) => b.fit - a.fit).map(({ section }) => section)
  return [...ordered, ...sections.slice(TRIED)]
}

/** What another section adds: words of the query that neither the first quote nor its heading says. */
function otherSection(
  index: SearchIndex,
  query: Understood,
  [best, ...others]: readonly Section[],
  first: Quote,
): { readonly section: Section; readonly quote: Quote } | undefined {
  if (best === undefined) return undefined
  const weightOf = (places: Iterable<number>): number =>
    [...places].reduce((sum, place) => sum + (query.words[place]?.weight ?? 0), 0)
  const known = new Set(
    query.words.flatMap(({ headings }, place) =>
      first.said.has(place) || headings.has(best.row) ? [place] : [],
    ),
  )
  const least = LEAST_NEW * weightOf(query.words.keys())
  for (const section of others.filter(
    ({ score, passage }) => score >= NEARLY * best.score && !passage.isReference,
  )) {
    const quote = quoteSection(index, query, section, { room: LIMITS.chatExtractCharacters / 2, known })
    const isNew = weightOf([...quote.said].filter((place) => !known.has(place))) >= least
    if (isNew && quote.coverage >= LEAST_SAID_BESIDE) return { section, quote }
  }
  return undefined
}
