import type { Citation } from '../../../contracts/knowledge-answers.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Section } from '../corpus/split-page.ts'
import type { Hit, SearchIndex, Understood } from './search-index.ts'

/** A section that fits. */
export interface Found extends Hit {
  readonly section: Section
}

/** Sections that fit a query, the best first. */
export const findSections = (index: SearchIndex, query: Understood): Found[] =>
  index.find(query).flatMap((hit) => {
    const section = index.sections[hit.row]
    return section === undefined ? [] : [{ ...hit, section }]
  })

/**
 * How sections are shown.
 *
 * @param publicUrl without a slash at the end; empty while it is not known, and addresses are then relative
 */
export function cite(
  index: SearchIndex,
  query: Understood,
  found: readonly Found[],
  publicUrl: string,
): Citation[] {
  const excerpts = index.excerpts(
    found.map(({ row }) => row),
    query,
  )
  return found.map(({ row, section: { id, page, anchor, pageTitle, heading } }) => ({
    id,
    title: heading === '' ? pageTitle : `${pageTitle}: ${heading}`,
    url: `${publicUrl}/docs/${page}#${encodeURIComponent(anchor)}`,
    excerpt: shortened((excerpts.get(row) ?? '').replaceAll(/\s+/g, ' ').trim(), LIMITS.excerptCharacters),
  }))
}

/** Text cut after its last whole word. */
export function shortened(text: string, characters: number): string {
  if (text.length <= characters) return text
  const cut = text.slice(0, characters - 2)
  const end = cut.lastIndexOf(' ')
  return `${(end === -1 ? cut : cut.slice(0, end)).toWellFormed()} …`
}
