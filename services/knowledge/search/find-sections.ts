import type { Citation } from '../../../contracts/knowledge-answers.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Passage } from '../corpus/split-page.ts'
import { coverageOf, type SearchIndex, type Understood } from './search-index.ts'

/** A section that fits, by the part of it that fits best. */
export interface Section {
  readonly row: number
  readonly passage: Passage
  readonly score: number
  /** How much of the query it knows, 0 to 1. */
  readonly coverage: number
}

/** Sections that fit a query, the best first, each once. */
export function findSections(index: SearchIndex, query: Understood): Section[] {
  const sections = new Map<string, Section>()
  for (const { row, score } of index.find(query)) {
    const passage = index.passages[row]
    if (passage === undefined || sections.has(passage.id)) continue
    sections.set(passage.id, { row, passage, score, coverage: coverageOf(query.words, row) })
  }
  return [...sections.values()]
}

/**
 * How sections are shown.
 *
 * @param publicUrl without a slash at the end; empty while it is not known, and addresses are then relative
 */
export function cite(
  index: SearchIndex,
  query: Understood,
  sections: readonly Section[],
  publicUrl: string,
): Citation[] {
  const excerpts = index.excerpts(
    sections.map(({ row }) => row),
    query,
  )
  return sections.map(({ row, passage: { id, page, anchor, pageTitle, heading } }) => ({
    id,
    title: heading === '' ? pageTitle : `${pageTitle}: ${heading}`,
    url: `${publicUrl}/docs/${page}#${encodeURIComponent(anchor)}`,
    excerpt: shortened((excerpts.get(row) ?? '').replaceAll(/\s+/g, ' ').trim(), LIMITS.excerptCharacters),
  }))
}

/** Text cut behind its last whole word. */
export function shortened(text: string, characters: number): string {
  if (text.length <= characters) return text
  const cut = text.slice(0, characters - 2)
  const end = cut.lastIndexOf(' ')
  return `${(end === -1 ? cut : cut.slice(0, end)).toWellFormed()} …`
}
