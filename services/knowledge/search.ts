import MiniSearch from 'minisearch'
import type { Citation } from '../../contracts/answers/knowledge.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { type Asked, NOTHING_ASKED } from './asked.ts'
import { excerptOf, type ValueOf } from './excerpt.ts'
import { blockText } from './markdown.ts'
import type { Section } from './sections.ts'

/** A section that matches a query. */
export interface Hit {
  readonly section: Section
  /** BM25 over all fields: higher is better. */
  readonly score: number
  /** The share of the query's words that the section has, each weighted by how rare it is. */
  readonly coverage: number
}

const BOOSTS = { title: 2, heading: 4, asked: 6, body: 1 }
/** A word that no section has is matched by words within this share of its letters. */
const FUZZY = 0.2
/** Shorter words are near to too many others. */
const SHORTEST_FUZZY = 5

/** Lower-case words; other characters separate them, so nothing that a caller writes is an operator. */
export const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/['’]/g, '')
    .match(/[\p{L}\p{N}]+/gu) ?? []

/** A word without the ending of its forms. */
export const stemOf = (word: string): string => word.replace(/(?<=...)(?:ies|es|s|ing|ed|ly)$/, '')

export type SearchIndex = ReturnType<typeof createSearchIndex>

/** An index of sections in memory, built once: their text, and the wordings in which they are asked for. */
export function createSearchIndex(sections: readonly Section[], asked: Asked = NOTHING_ASKED) {
  const index = new MiniSearch({ fields: Object.keys(BOOSTS), tokenize: wordsOf, processTerm: stemOf })
  const frequencies = new Map<string, number>()
  index.addAll(
    sections.map(({ id: sectionId, pageTitle, heading, blocks }, id) => {
      const wordings = asked.bySection.get(sectionId)?.join('\n') ?? ''
      const fields = { title: pageTitle, heading: heading || pageTitle, asked: wordings }
      const body = blocks.map(blockText).join('\n')
      for (const stem of new Set(wordsOf([...Object.values(fields), body].join(' ')).map(stemOf)))
        frequencies.set(stem, (frequencies.get(stem) ?? 0) + 1)
      return { id, ...fields, body }
    }),
  )
  const weightOf = (stem: string): number => Math.log1p(sections.length / ((frequencies.get(stem) ?? 0) + 1))
  const fuzzy = (term: string): number | false =>
    term.length < SHORTEST_FUZZY || frequencies.has(term) ? false : FUZZY

  return {
    sections,
    /** Sections that have any word of a query, the best first. */
    find(query: string): Hit[] {
      const stems = stemsOf(query)
      const expected = sum(stems.map(weightOf))
      return index.search(stems.join(' '), { boost: BOOSTS, fuzzy }).flatMap(({ id, score, queryTerms }) => {
        const section = sections[id as number]
        return section === undefined
          ? []
          : [{ section, score, coverage: sum(queryTerms.map(weightOf)) / expected }]
      })
    },
    /** How much of a query a text contains, each word by how rare it is. */
    valueOf(query: string): ValueOf {
      const weights = stemsOf(query).map((stem) => [stem, weightOf(stem)] as const)
      return (text) => {
        const contained = new Set(wordsOf(text).map(stemOf))
        return sum(weights.map(([stem, weight]) => (contained.has(stem) ? weight : 0)))
      }
    },
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

/** The different stems of a query, up to the limit. */
const stemsOf = (query: string): string[] =>
  [...new Set(wordsOf(query).map(stemOf))].slice(0, LIMITS.searchTerms)

/** @param publicUrl without a slash at the end; empty until it is known, and addresses are then relative */
export const cite = (
  { id, title, page, anchor, blocks }: Section,
  valueOf: ValueOf,
  publicUrl: string,
): Citation => ({
  id,
  title,
  url: `${publicUrl}/docs/${page}#${encodeURIComponent(anchor)}`,
  excerpt: excerptOf(blocks, valueOf),
})
