import { DatabaseSync } from 'node:sqlite'
import { LIMIT_PARAMETER } from '../../runtime/sqlite/limit-parameter.ts'
import { blockText } from '../corpus/block-text.ts'
import { type Asked, NOTHING_ASKED } from '../corpus/read-asked.ts'
import type { Section } from '../corpus/split-page.ts'
import { editDistance } from './edit-distance.ts'
import { kindOf, kindredOf } from './kindred-words.ts'
import { isFormOf, isStopWord, queryTerms, respelt } from './query-terms.ts'

/** The part of a query that the sections know. */
export interface Understood {
  readonly words: readonly UnderstoodWord[]
  /** FTS5 expression of the words that were given and of those that mean the same; empty where none is known. */
  readonly expression: string
}

export interface UnderstoodWord {
  readonly given: string
  /** As it was understood: spelt as the documentation spells it. */
  readonly word: string
  /** Sections that it stands in, or that a word of the same meaning does; beside their text that is how people ask. */
  readonly rows: ReadonlySet<number>
  /** Wordings that it stands in, and what it counts there: a word of the same meaning counts less. */
  readonly wordings: ReadonlyMap<number, number>
  /** How much it tells: the rarer, the more. */
  readonly weight: number
  /** How sure it is that this was meant, 0 to 1: a short word may be another one, and not a misspelt one. */
  readonly certainty: number
}

/** A section, by its place in the list. Higher is better. */
export interface Hit {
  readonly row: number
  readonly score: number
  /** How much of the query the section says anywhere, by the weight of its words, 0 to 1. */
  readonly coverage: number
  /** How near the query is to the nearest wording of the section, its heading among them, 0 to 1. */
  readonly nearness: number
  /** How near it is to the nearest few of them taken together, 0 to 1: one wording may be near by chance. */
  readonly agreement: number
}

/** An index of sections, made once and never changed. */
export interface SearchIndex {
  readonly sections: readonly Section[]
  understand(text: string): Understood
  /** Sections that say anything of it, the best first. */
  find(query: Understood): Hit[]
  /** How near a query is to questions of kinds that no page answers, 0 to 1: to the nearest few taken together. */
  unanswered(query: Understood): number
  /** How much of the query a text says, by the weight of its words. */
  valueOf(query: Understood): (text: string) => number
  /** The part of each section that fits best, as plain text. */
  excerpts(rows: readonly number[], query: Understood): ReadonlyMap<number, string>
  close(): void
}

/** Weight of a word by its column: page's title, heading, how people ask, text, example. */
const COLUMN_WEIGHTS = '2.0, 4.0, 4.0, 1.0, 0.3'
/** Weight of a synonym beside the word itself. */
const KINDRED_SHARE = 0.3
/** Weight of a section of a reference beside others: it is complete, and introduces nothing. */
const REFERENCE_SHARE = 0.9
/** Weights of the parts of a score, chosen by leaving each wording out and then looking for it (decision 0043). */
const PARTS = { nearness: 0.5, agreement: 1.5, coverage: 1, rank: 0.5 }
/** Wordings of a section that are taken together. */
const NEAREST = 3
/** Weight of a word that no section has: it may be a name of something else, but mostly it is talk. */
const UNKNOWN_SHARE = 0.35
/** No more is expected of a section, by the weight of its words, some four rare ones: the rest of a long question is talk around it. */
const MOST_EXPECTED = 16
/** A word that hardly any section has, or none, weighs as one of so many: people tell more than they ask. */
const RARE = 2
/** Words shorter than this are not taken for misspelt ones: too many others are near. */
const LEAST_MISSPELT = 5
/** From so many letters on a word may have two mistakes; shorter ones would be taken for others. */
const MISSPELT_TWICE = 8
/** Weight of a shorter word that was taken for a misspelt one. */
const GUESS = 0.6
/** No word of the documentation is longer. */
const MOST_MISSPELT = 40
/** Words with common letters among which a misspelt one is looked for. */
const NEAR_WORDS = 24
/** FTS5 takes up to 64. */
const EXCERPT_WORDS = 48

/**
 * Builds the index in memory: FTS5 with porter stemming over sections and over the wordings in which they are asked for,
 * and one of trigrams over their words, by which misspelt ones are found.
 *
 * @example const index = createSearchIndex(pages.flatMap(splitPage))
 */
export function createSearchIndex(sections: readonly Section[], asked: Asked = NOTHING_ASKED): SearchIndex {
  const db = new DatabaseSync(':memory:')
  db.exec(`
    CREATE VIRTUAL TABLE sections USING fts5(title, heading, asked, body, code, tokenize = 'porter unicode61');
    CREATE VIRTUAL TABLE wordings USING fts5(text, tokenize = 'porter unicode61');
    CREATE VIRTUAL TABLE words USING fts5(word, tokenize = 'trigram');
    CREATE VIRTUAL TABLE stems USING fts5vocab(sections, row);
    CREATE VIRTUAL TABLE said USING fts5vocab(wordings, instance);
    BEGIN`)
  const { vocabulary, sectionOf } = fill(db, sections, asked)
  db.exec('COMMIT')
  const weightOf = (count: number): number =>
    Math.log(1 + (sections.length + 1) / (Math.max(count, RARE) + 0.5))
  const wordingWeights = weighWordings(db, sectionOf.length, weightOf)
  const rank = db.prepare(
    `SELECT rowid AS row, -bm25(sections, ${COLUMN_WEIGHTS}) AS score FROM sections WHERE sections MATCH ?`,
  )
  const rowsOf = db.prepare('SELECT rowid AS row FROM sections WHERE sections MATCH ?')
  const wordingsOf = db.prepare('SELECT rowid AS row FROM wordings WHERE wordings MATCH ?')
  // These have many rows of a number or two.
  for (const statement of [rank, rowsOf, wordingsOf]) statement.setReturnArrays(true)
  const near = db.prepare(`SELECT word FROM words WHERE words MATCH ? ORDER BY rank ${LIMIT_PARAMETER}`)
  // One pass over what fits: the plus keeps SQLite from beginning anew for each of the rows.
  const excerpts = db.prepare(
    `SELECT rowid AS row, snippet(sections, 3, '', '', ' … ', ${EXCERPT_WORDS}) AS text FROM sections
     WHERE sections MATCH ? AND +rowid IN (SELECT value FROM json_each(?))`,
  )

  /** The word of the sections that was probably meant: the nearest, and of equally near ones the most used. */
  function spelling(word: string): string | undefined {
    // Letters beyond the first plane take two units each.
    const { length } = Array.from(word)
    if (length < LEAST_MISSPELT || length > MOST_MISSPELT) return undefined
    const most = length < MISSPELT_TWICE ? 1 : 2
    const byTrigrams = near.all(trigramsOf(word).map(quoted).join(' OR '), NEAR_WORDS) as { word: string }[]
    // Two letters that were swapped leave a short word without a trigram of its own.
    const byLetter = vocabulary.byLetter.get(word[0] ?? '') ?? []
    return (
      [...new Set([...byTrigrams.map((row) => row.word), ...byLetter])]
        .map((candidate) => ({ candidate, distance: editDistance(word, candidate, most) }))
        // Hardly anybody misses the first letter, and other words begin with another one.
        .filter(({ candidate, distance }) => distance <= most && candidate[0] === word[0])
        .toSorted(
          (x, y) => x.distance - y.distance || vocabulary.uses(y.candidate) - vocabulary.uses(x.candidate),
        )[0]?.candidate
    )
  }

  /** A word as it is looked for: as it was given, or the word it was probably meant to be. */
  function understandWord(given: string): UnderstoodWord {
    const asGiven = lookUp(given)
    const meant = asGiven === undefined ? spelling(given) : undefined
    const word = meant ?? given
    const { rows, wordings } = asGiven ?? (meant === undefined ? undefined : lookUp(meant)) ?? NOWHERE
    const kindred = kindredOf(word)
    const beside = kindred.length === 0 ? NOWHERE : (lookUp(...kindred) ?? NOWHERE)
    const isKnown = [rows, wordings, beside.rows, beside.wordings].some(({ length }) => length > 0)
    const certainty = meant === undefined || given.length >= MISSPELT_TWICE ? 1 : GUESS
    return {
      given,
      word,
      rows: new Set([...rows, ...beside.rows]),
      wordings: new Map([
        ...beside.wordings.map((row) => [row, KINDRED_SHARE] as const),
        ...wordings.map((row) => [row, 1] as const),
      ]),
      weight: weightOf(rows.length) * (isKnown ? 1 : UNKNOWN_SHARE),
      certainty,
    }
  }

  /** The places of any of some words; undefined where none has one. */
  function lookUp(...words: readonly string[]): Places | undefined {
    const placesIn = (statement: typeof rowsOf, some: readonly string[]): number[] =>
      (statement.all(anyOf(some)) as unknown as [number][]).map(([row]) => row)
    const rows = placesIn(rowsOf, words)
    const wordings = placesIn(wordingsOf, words.map(kindOf))
    return rows.length + wordings.length === 0 ? undefined : { rows, wordings }
  }

  /** How near a query is to every wording that has any of its words: the cosine of both, by the weight of their words. */
  function nearnesses({ words }: Understood): Map<number, number> {
    const all = expectedOf(words)
    const common = new Map<number, number>()
    for (const { wordings, weight, certainty } of words) {
      for (const [row, share] of wordings)
        common.set(row, (common.get(row) ?? 0) + share * weight * certainty)
    }
    for (const [row, weight] of common) {
      common.set(row, weight / Math.sqrt(Math.max(all, weight) * Math.max(weight, wordingWeights[row] ?? 0)))
    }
    return common
  }

  /** The nearest few wordings of every section that has any, the nearest first. */
  function nearestOf(query: Understood): Map<number, number[]> {
    const bySection = new Map<number, number[]>()
    for (const [wording, nearness] of nearnesses(query)) {
      const row = sectionOf[wording] ?? UNANSWERED
      const nearest = bySection.get(row)
      if (nearest === undefined) bySection.set(row, [nearness])
      else insert(nearest, nearness)
    }
    return bySection
  }

  return {
    sections,
    understand(text) {
      const { words, names } = queryTerms(text)
      const understood = words
        .map(understandWord)
        .filter(({ word }) => words.length === 1 || !isStopWord(word))
      const known = understood.filter(({ rows }) => rows.size > 0).map(({ word }) => word)
      const all = new Set([...known, ...names, ...known.flatMap(kindredOf)])
      return { words: understood, expression: known.length === 0 ? '' : anyOf([...all]) }
    },
    find(query) {
      if (query.expression === '') return []
      const ranks = rank.all(query.expression) as unknown as [row: number, score: number][]
      const best = Math.max(...ranks.map(([, score]) => score))
      const nearest = nearestOf(query)
      const hits = ranks.map(([row, score]): Hit => {
        const coverage = coverageOf(query.words, row)
        const few = nearest.get(row) ?? []
        const [nearness, agreement] = [few[0] ?? 0, together(few)]
        const parts =
          PARTS.nearness * nearness +
          PARTS.agreement * agreement +
          PARTS.coverage * coverage +
          PARTS.rank * (score / best)
        const share = sections[row]?.isReference === true ? REFERENCE_SHARE : 1
        return { row, coverage, nearness, agreement, score: share * parts }
      })
      return hits.toSorted((a, b) => b.score - a.score || a.row - b.row)
    },
    unanswered: (query) => together(nearestOf(query).get(UNANSWERED) ?? []),
    valueOf({ words }) {
      const forms = words.map(({ word, weight }) => ({ weight, word, kindred: kindredOf(word) }))
      return (text) => {
        const said = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
        const says = (word: string): boolean => [...said].some((one) => isFormOf(one, word))
        return forms.reduce((sum, { word, kindred, weight }) => {
          const share = says(word) ? 1 : kindred.some(says) ? KINDRED_SHARE : 0
          return sum + share * weight
        }, 0)
      }
    },
    excerpts(rows, query) {
      if (query.expression === '') return new Map()
      const found = excerpts.all(query.expression, JSON.stringify(rows)) as { row: number; text: string }[]
      return new Map(found.map(({ row, text }) => [row, text]))
    },
    close: () => db.close(),
  }
}

/** Sections and wordings that a word stands in. */
interface Places {
  readonly rows: readonly number[]
  readonly wordings: readonly number[]
}

const NOWHERE: Places = { rows: [], wordings: [] }

/** Stands for the place of a section where there is none. */
const UNANSWERED = -1

/** How much of what a query says a section knows, by the weight of its words: 0 to 1. */
function coverageOf(words: readonly UnderstoodWord[], row: number): number {
  const all = expectedOf(words)
  const known = words.reduce(
    (sum, { rows, weight, certainty }) => (rows.has(row) ? sum + weight * certainty : sum),
    0,
  )
  return all === 0 ? 0 : Math.min(1, known / all)
}

/** The most that a section can match of a query, by the weight of its words. */
const expectedOf = (words: readonly UnderstoodWord[]): number =>
  Math.min(
    MOST_EXPECTED,
    words.reduce((sum, { weight }) => sum + weight, 0),
  )

/** Keeps the few greatest, the greatest first. */
function insert(greatest: number[], value: number): void {
  const place = greatest.findIndex((one) => value > one)
  if (place === -1 && greatest.length >= NEAREST) return
  greatest.splice(place === -1 ? greatest.length : place, 0, value)
  greatest.length = Math.min(greatest.length, NEAREST)
}

/** The root of their mean square; where there are fewer than a few, the others are far. */
const together = (nearest: readonly number[]): number =>
  Math.sqrt(nearest.reduce((sum, one) => sum + one ** 2, 0) / NEAREST)

/** The words of all sections. */
interface Vocabulary {
  uses(word: string): number
  readonly byLetter: ReadonlyMap<string, readonly string[]>
}

interface Filled {
  readonly vocabulary: Vocabulary
  /** The section of each wording. */
  readonly sectionOf: readonly number[]
}

function fill(db: DatabaseSync, sections: readonly Section[], { bySection, unanswered }: Asked): Filled {
  const addSection = db.prepare(
    'INSERT INTO sections (rowid, title, heading, asked, body, code) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const addWording = db.prepare('INSERT INTO wordings (rowid, text) VALUES (?, ?)')
  const addWord = db.prepare('INSERT INTO words (word) VALUES (?)')
  const uses = new Map<string, number>()
  const sectionOf: number[] = []
  const ask = (wording: string, row: number): void => {
    // Words that tell nothing would count as such that the question lacks.
    addWording.run(sectionOf.length, queryTerms(wording).words.map(kindOf).join(' '))
    sectionOf.push(row)
  }
  for (const [row, { id, pageTitle, heading, blocks }] of sections.entries()) {
    const wordings = bySection.get(id) ?? []
    const isCode = ({ kind }: (typeof blocks)[number]): boolean => kind === 'code'
    const body = blocks
      .filter((block) => !isCode(block))
      .map(blockText)
      .join('\n')
    const code = blocks.filter(isCode).map(blockText).join('\n')
    // The text itself is shown as an excerpt; what people write of it may be spelt as is best for finding.
    addSection.run(row, pageTitle, respelt(heading), respelt(wordings.join('\n')), body, code)
    for (const wording of [heading === '' ? pageTitle : heading, ...wordings]) ask(wording, row)
    const text = `${pageTitle} ${heading} ${wordings.join(' ')} ${body}`
    for (const word of text.toLowerCase().match(/\p{L}{4,}/gu) ?? [])
      uses.set(word, (uses.get(word) ?? 0) + 1)
  }
  for (const wording of unanswered) ask(wording, UNANSWERED)
  for (const word of uses.keys()) addWord.run(word)
  const byLetter = Map.groupBy(uses.keys(), (word) => word[0] ?? '')
  return { vocabulary: { uses: (word) => uses.get(word) ?? 0, byLetter }, sectionOf }
}

/** The sum of the word weights of each wording. */
function weighWordings(db: DatabaseSync, count: number, weightOf: (rows: number) => number): number[] {
  const stems = db.prepare('SELECT term, doc FROM stems').all() as { term: string; doc: number }[]
  const rows = new Map(stems.map(({ term, doc }) => [term, doc]))
  const weights = Array<number>(count).fill(0)
  const said = db.prepare('SELECT DISTINCT term, doc FROM said').all() as { term: string; doc: number }[]
  for (const { term, doc } of said) weights[doc] = (weights[doc] ?? 0) + weightOf(rows.get(term) ?? 0)
  return weights
}

function trigramsOf(word: string): string[] {
  const letters = Array.from(word)
  return letters.slice(2).map((_, index) => letters.slice(index, index + 3).join(''))
}

/** Within quotation marks nothing is an operator (SQLite, FTS5 §3.1). */
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

const anyOf = (words: readonly string[]): string => words.map(quoted).join(' OR ')
