import { DatabaseSync } from 'node:sqlite'
import { LIMIT_PARAMETER } from '../../platform/sqlite/limit-parameter.ts'
import type { Passage } from '../corpus/split-page.ts'
import { editDistance } from './edit-distance.ts'
import { kindredOf } from './kindred-words.ts'
import { isStopWord, queryTerms } from './query-terms.ts'

/** What of a query the passages know. */
export interface Understood {
  readonly words: readonly UnderstoodWord[]
  /** FTS5 expression of the words that were given; empty where none is known. */
  readonly direct: string
  /** The same of words that mean the same; empty where there are none. */
  readonly kindred: string
}

export interface UnderstoodWord {
  readonly given: string
  /** As it was understood: spelt as the documentation spells it. */
  readonly word: string
  /** Passages that it stands in, or that a word of the same meaning does. */
  readonly rows: ReadonlySet<number>
  /** Those of them where it stands in the heading or in the page's title; and in the heading itself. */
  readonly headings: ReadonlySet<number>
  readonly ownHeadings: ReadonlySet<number>
  /** How much it tells: the rarer, the more. */
  readonly weight: number
  /** How sure it is that this was meant, 0 to 1: a short word may be another one, and not a misspelt one. */
  readonly certainty: number
}

/** A passage, by its place in the list, and how well it fits. Higher is better. */
export interface Hit {
  readonly row: number
  readonly score: number
}

/** An index of passages, made once and never changed. */
export interface SearchIndex {
  readonly passages: readonly Passage[]
  understand(text: string): Understood
  /** Passages that fit, the best first; several parts of one section may be among them. */
  find(query: Understood): Hit[]
  /** The part of each passage that fits best, as plain text. */
  excerpts(rows: readonly number[], query: Understood): ReadonlyMap<number, string>
  /** For each sentence of a passage, places of the words of the query that it says, itself or by a word of the same meaning. */
  said(row: number, query: Understood): ReadonlySet<number>[]
  close(): void
}

/** What a word is worth by where it stands: in the page's title, in the heading, in a sentence, in an example. */
const COLUMN_WEIGHTS = '2.0, 4.0, 1.0, 0.3'
/** Words shorter than this are not taken for misspelt ones: too many others are near. */
const LEAST_MISSPELT = 5
/** From so many letters on a word may have two mistakes; shorter ones would be taken for others. */
const MISSPELT_TWICE = 8
/** What a shorter word counts that was taken for a misspelt one. */
const GUESS = 0.6
/** No word of the documentation is longer. */
const MOST_MISSPELT = 40
/** Words with common letters among which a misspelt one is looked for. */
const NEAR_WORDS = 24
/** What a word of the same meaning is worth beside the word itself. */
const KINDRED_SHARE = 0.4
/** How much a heading that the query says in full adds, in parts of what BM25 gives. */
const HEADING_WEIGHT = 2
/** What a page's title is worth beside a heading of its own. */
const TITLE_SHARE = 0.5
/** What a page that is made from the code is worth beside one that was written for readers. */
const REFERENCE_SHARE = 0.7
/** FTS5 takes up to 64. */
const EXCERPT_WORDS = 48
/** A passage has fewer, since its characters are limited; the place of a sentence follows from its row. */
const SENTENCES_PER_PASSAGE = 10_000

/**
 * Builds the index in memory: FTS5 with porter stemming over passages and over their sentences, and one of trigrams
 * over their words, by which misspelt ones are found.
 *
 * @example const index = createSearchIndex(pages.flatMap(splitPage))
 */
export function createSearchIndex(passages: readonly Passage[]): SearchIndex {
  const db = new DatabaseSync(':memory:')
  db.exec(`
    CREATE VIRTUAL TABLE passages USING fts5(title, heading, body, code, tokenize = 'porter unicode61');
    CREATE VIRTUAL TABLE sentences USING fts5(body, tokenize = 'porter unicode61');
    CREATE VIRTUAL TABLE words USING fts5(word, tokenize = 'trigram');
    BEGIN`)
  const vocabulary = fill(db, passages)
  db.exec('COMMIT')
  const find = db.prepare(
    `SELECT rowid AS row, -bm25(passages, ${COLUMN_WEIGHTS}) AS score FROM passages WHERE passages MATCH ?`,
  )
  const rowsOf = db.prepare('SELECT rowid AS row FROM passages WHERE passages MATCH ?')
  const near = db.prepare(`SELECT word FROM words WHERE words MATCH ? ORDER BY rank ${LIMIT_PARAMETER}`)
  // Numbers are bound as reals, and FTS5 takes a bound of rowids that is not an integer for none at all.
  const excerpt = db.prepare(
    `SELECT snippet(passages, 2, '', '', ' … ', ${EXCERPT_WORDS}) AS text FROM passages WHERE passages MATCH ? AND rowid = CAST(? AS INTEGER)`,
  )
  const findSentences = db.prepare(
    `SELECT rowid AS id FROM sentences
     WHERE sentences MATCH ? AND rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)`,
  )

  /** How many telling words each heading has, and a page's title, which stands over every heading of it. */
  const withHeadings = new Set(passages.flatMap(({ page, heading }) => (heading === '' ? [] : [page])))
  const headingWords = passages.map(({ page, heading, pageTitle }) => ({
    own: heading === '' ? 0 : queryTerms(heading).words.length,
    isIntroduction: heading === '' && withHeadings.has(page),
    title: queryTerms(pageTitle).words.length,
  }))

  /** How much of a heading a query says: what was asked word for word is found first. */
  function headingShare(words: readonly UnderstoodWord[], row: number): number {
    const { own, title, isIntroduction } = headingWords[row] ?? { own: 0, title: 0, isIntroduction: false }
    let said = 0
    for (const { headings, ownHeadings } of words) {
      if (ownHeadings.has(row)) said += 1
      else if (headings.has(row)) said += TITLE_SHARE
    }
    const share = Math.min(1, said / Math.max(1, own + TITLE_SHARE * title))
    // What stands before the first heading introduces a page, and says little.
    return isIntroduction ? share * TITLE_SHARE : share
  }

  const rowsWith = (expression: string): Set<number> =>
    new Set((rowsOf.all(expression) as { row: number }[]).map(({ row }) => row))

  /** The word of the passages that was probably meant: the nearest, and of equally near ones the most used. */
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
    const asGiven = rowsWith(anyOf([given, ...kindredOf(given)]))
    const meant = asGiven.size === 0 ? spelling(given) : undefined
    const word = meant ?? given
    const rows = meant === undefined ? asGiven : rowsWith(anyOf([meant, ...kindredOf(meant)]))
    const inColumns = (columns: string): Set<number> =>
      rows.size === 0 ? new Set() : rowsWith(`{${columns}} : (${anyOf([word, ...kindredOf(word)])})`)
    const headings = inColumns('title heading')
    const ownHeadings = inColumns('heading')
    // What BM25 weighs a word with (Robertson and Spärck Jones), kept above zero.
    const weight = Math.log(1 + (passages.length - rows.size + 0.5) / (rows.size + 0.5))
    const certainty = meant === undefined || given.length >= MISSPELT_TWICE ? 1 : GUESS
    return { given, word, rows, headings, ownHeadings, weight, certainty }
  }

  return {
    passages,
    understand(text) {
      const { words, names } = queryTerms(text)
      const understood = words
        .map(understandWord)
        .filter(({ word }) => words.length === 1 || !isStopWord(word))
      const known = understood.filter(({ rows }) => rows.size > 0).map(({ word }) => word)
      const direct = known.length === 0 ? '' : anyOf([...known, ...names])
      const kindred = known.flatMap(kindredOf).filter((word) => !known.includes(word))
      return { words: understood, direct, kindred: kindred.length === 0 ? '' : anyOf(kindred) }
    },
    find({ words, direct, kindred }) {
      const scores = new Map<number, number>()
      for (const [expression, share] of [
        [direct, 1],
        [kindred, KINDRED_SHARE],
      ] as const) {
        if (expression === '') continue
        for (const { row, score } of find.all(expression) as unknown as Hit[]) {
          scores.set(row, (scores.get(row) ?? 0) + share * score)
        }
      }
      const hits = [...scores].map(([row, score]) => ({
        row,
        score:
          score *
          (1 + coverageOf(words, row) + HEADING_WEIGHT * headingShare(words, row)) *
          (passages[row]?.isReference === true ? REFERENCE_SHARE : 1),
      }))
      return hits.toSorted((a, b) => b.score - a.score || a.row - b.row)
    },
    excerpts(rows, query) {
      const expression = allOf(query)
      if (expression === '') return new Map()
      return new Map(rows.map((row) => [row, (excerpt.get(expression, row) as { text: string }).text]))
    },
    said(row, { words }) {
      const first = row * SENTENCES_PER_PASSAGE
      const count = passages[row]?.sentences.length ?? 0
      const said = Array.from({ length: count }, () => new Set<number>())
      for (const [place, { word, rows }] of words.entries()) {
        if (!rows.has(row)) continue
        const expression = anyOf([word, ...kindredOf(word)])
        const found = findSentences.all(expression, first, first + SENTENCES_PER_PASSAGE - 1)
        for (const { id } of found as { id: number }[]) said[id - first]?.add(place)
      }
      return said
    },
    close: () => db.close(),
  }
}

/** How much of what a query says a passage knows, by the weight of its words: 0 to 1. */
export function coverageOf(words: readonly UnderstoodWord[], row: number): number {
  let [known, all] = [0, 0]
  for (const { rows, weight, certainty } of words) {
    all += weight
    if (rows.has(row)) known += weight * certainty
  }
  return all === 0 ? 0 : known / all
}

/** The words of all passages. */
interface Vocabulary {
  uses(word: string): number
  readonly byLetter: ReadonlyMap<string, readonly string[]>
}

function fill(db: DatabaseSync, passages: readonly Passage[]): Vocabulary {
  const addPassage = db.prepare(
    'INSERT INTO passages (rowid, title, heading, body, code) VALUES (?, ?, ?, ?, ?)',
  )
  const addSentence = db.prepare('INSERT INTO sentences (rowid, body) VALUES (?, ?)')
  const addWord = db.prepare('INSERT INTO words (word) VALUES (?)')
  const uses = new Map<string, number>()
  for (const [row, { pageTitle, heading, sentences, code }] of passages.entries()) {
    const body = sentences.join('\n')
    addPassage.run(row, pageTitle, heading, body, code)
    for (const [place, sentence] of sentences.entries())
      addSentence.run(row * SENTENCES_PER_PASSAGE + place, sentence)
    for (const word of `${pageTitle} ${heading} ${body}`.toLowerCase().match(/\p{L}{4,}/gu) ?? []) {
      uses.set(word, (uses.get(word) ?? 0) + 1)
    }
  }
  for (const word of uses.keys()) addWord.run(word)
  const byLetter = Map.groupBy(uses.keys(), (word) => word[0] ?? '')
  return { uses: (word) => uses.get(word) ?? 0, byLetter }
}

function trigramsOf(word: string): string[] {
  const letters = Array.from(word)
  return letters.slice(2).map((_, index) => letters.slice(index, index + 3).join(''))
}

/** Within quotation marks nothing is an operator (SQLite, FTS5 §3.1). */
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

const anyOf = (words: readonly string[]): string => words.map(quoted).join(' OR ')

const allOf = ({ direct, kindred }: Understood): string =>
  [direct, kindred].filter((expression) => expression !== '').join(' OR ')
