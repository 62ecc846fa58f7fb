import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { slips } from '../../../contracts/did-you-mean.ts'
import { blockText } from '../corpus/block-text.ts'
import { type Asked, NOTHING_ASKED } from '../corpus/read-asked.ts'
import type { Section } from '../corpus/split-page.ts'
import { kindredOf } from './kindred-words.ts'
import { createLeaning, PhraseIndex, type SharedText } from './phrase-index.ts'
import { isFormOf, isStopWord, queryWords } from './query-words.ts'

/** The part of a query that the sections know. */
export interface Understood {
  readonly text: string
  readonly words: readonly UnderstoodWord[]
  /** FTS5 expression of the words that were given and of those that mean the same; empty where none is known. */
  readonly expression: string
}

interface UnderstoodWord {
  /** Spelt as the documentation spells it. */
  readonly word: string
  /** Sections that it stands in, or that a word of the same meaning does; beside their text that is how people ask. */
  readonly rows: ReadonlySet<number>
  /** Wordings that it stands in, and what it counts there: a word of the same meaning counts less. */
  readonly wordings: ReadonlyMap<number, number>
  /** How much it tells: the rarer, the more. */
  readonly weight: number
}

/** A section, by its place in the list. Higher is better. */
export interface Hit {
  readonly row: number
  readonly score: number
  /** How much of the query the section says anywhere, by the weight of its words, 0 to 1. */
  readonly coverage: number
  /** How near the query is to the nearest few wordings of the section, its heading among them, 0 to 1. */
  readonly agreement: number
}

/** Weight of a synonym beside the word itself. */
const KINDRED_SHARE = 0.3
/** Weights of the parts of a score. They were chosen by leaving each wording out and then looking for it (decision 0043). */
const PARTS = { agreement: 1.5, coverage: 1, rank: 0.5, phrases: 0.75 }
/** How much the text of a section counts for its phrases, beside a wording. */
const BODY_SHARE = 0.3
/** Characters of a section's text whose phrases are taken: more is tables and examples. */
const BODY_CHARACTERS = 4_000
/** Wordings of a section that are taken together: one may be near by chance. */
const NEAREST = 3
/** No more is expected of a section, by the weight of its words, some four rare ones: the rest of a long question is talk around it. */
const MOST_EXPECTED = 16
/** A word that hardly any section has, or none, weighs as one of so many: people tell more than they ask. */
const RARE = 2
/** Words shorter than this are not taken for misspelt ones: too many others are near. */
const LEAST_MISSPELT = 5
/** From so many letters on a word may have two mistakes; shorter ones would be taken for others. */
const MISSPELT_TWICE = 8
/** FTS5 takes up to 64. */
const EXCERPT_WORDS = 48
/** Stands for the place of a section where there is none. */
const UNANSWERED = -1

/** Sections and wordings that a word stands in. */
interface Places {
  readonly rows: readonly number[]
  readonly wordings: readonly number[]
}

const NOWHERE: Places = { rows: [], wordings: [] }

/**
 * An index of sections in memory, made once and never changed: FTS5 with porter stemming over sections, and over the
 * wordings in which they are asked for.
 */
export class SearchIndex {
  readonly sections: readonly Section[]
  readonly #db = new DatabaseSync(':memory:')
  /** Words of all sections and how often each stands there, by their first letter. */
  readonly #uses = new Map<string, Map<string, number>>()
  /** The section of each wording, and the sum of the weights of its words. */
  readonly #sectionOf: number[] = []
  readonly #wordingWeights: readonly number[]
  readonly #phrases: PhraseIndex
  readonly #leaning: (question: string) => number
  readonly #rank: StatementSync
  readonly #rowsOf: StatementSync
  readonly #wordingsOf: StatementSync
  readonly #excerpts: StatementSync

  constructor(sections: readonly Section[], asked: Asked = NOTHING_ASKED) {
    this.sections = sections
    const db = this.#db
    db.exec(`
      CREATE VIRTUAL TABLE sections USING fts5(title, heading, asked, body, code, tokenize = 'porter unicode61');
      CREATE VIRTUAL TABLE wordings USING fts5(text, tokenize = 'porter unicode61');
      CREATE VIRTUAL TABLE stems USING fts5vocab(sections, row);
      CREATE VIRTUAL TABLE said USING fts5vocab(wordings, instance);
      BEGIN`)
    this.#fill(asked)
    db.exec('COMMIT')
    this.#phrases = new PhraseIndex(sections.map((section) => textsOf(section, asked)))
    const answered = [...sections.map(({ heading }) => heading), ...asked.bySection.values()].flat()
    this.#leaning = createLeaning(answered, asked.unanswered)
    this.#wordingWeights = this.#weighWordings()
    this.#rank = db.prepare(
      'SELECT rowid AS row, -bm25(sections) AS score FROM sections WHERE sections MATCH ?',
    )
    this.#rowsOf = db.prepare('SELECT rowid AS row FROM sections WHERE sections MATCH ?')
    this.#wordingsOf = db.prepare('SELECT rowid AS row FROM wordings WHERE wordings MATCH ?')
    // These have many rows of a number or two.
    for (const statement of [this.#rank, this.#rowsOf, this.#wordingsOf]) statement.setReturnArrays(true)
    // One pass over what fits: the plus keeps SQLite from beginning anew for each of the rows.
    this.#excerpts = db.prepare(
      `SELECT rowid AS row, snippet(sections, 3, '', '', ' … ', ${EXCERPT_WORDS}) AS text FROM sections
       WHERE sections MATCH ? AND +rowid IN (SELECT value FROM json_each(?))`,
    )
  }

  understand(text: string): Understood {
    const words = queryWords(text)
    const understood = words
      .map((word) => this.#understandWord(word))
      .filter(({ word }) => words.length === 1 || !isStopWord(word))
    const known = understood.filter(({ rows }) => rows.size > 0).map(({ word }) => word)
    return {
      text,
      words: understood,
      expression: anyOf([...new Set([...known, ...known.flatMap(kindredOf)])]),
    }
  }

  /** Sections that say anything of a query, the best first. */
  find(query: Understood): Hit[] {
    if (query.expression === '') return []
    const ranks = this.#rank.all(query.expression) as unknown as [row: number, score: number][]
    const best = Math.max(...ranks.map(([, score]) => score))
    const nearest = this.#nearestOf(query)
    const phrases = this.#phrases.nearness(query.text)
    const hits = ranks.map(([row, rank]): Hit => {
      const coverage = coverageOf(query.words, row)
      const agreement = together(nearest.get(row) ?? [])
      const worded = PARTS.agreement * agreement + PARTS.phrases * (phrases.get(row) ?? 0)
      const score = worded + PARTS.coverage * coverage + PARTS.rank * (rank / best)
      return { row, coverage, agreement, score }
    })
    return hits.toSorted((a, b) => b.score - a.score || a.row - b.row)
  }

  /** How near a query is to questions of kinds that no page answers, 0 to 1: to the nearest few taken together. */
  unanswered(query: Understood): number {
    return together(this.#nearestOf(query).get(UNANSWERED) ?? [])
  }

  /** Whether a query sounds like those that are answered (above 0), or like those that no page answers. */
  leaning({ text }: Understood): number {
    return this.#leaning(text)
  }

  /** How much of a query a text says, by the weight of its words. */
  valueOf({ words }: Understood): (text: string) => number {
    const forms = words.map(({ word, weight }) => ({ weight, word, kindred: kindredOf(word) }))
    return (text) => {
      const said = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
      const says = (word: string): boolean => [...said].some((one) => isFormOf(one, word))
      return forms.reduce((sum, { word, kindred, weight }) => {
        const share = says(word) ? 1 : kindred.some(says) ? KINDRED_SHARE : 0
        return sum + share * weight
      }, 0)
    }
  }

  /** The part of each section that fits best, as plain text. */
  excerpts(rows: readonly number[], { expression }: Understood): ReadonlyMap<number, string> {
    if (expression === '') return new Map()
    const found = this.#excerpts.all(expression, JSON.stringify(rows)) as { row: number; text: string }[]
    return new Map(found.map(({ row, text }) => [row, text]))
  }

  close(): void {
    this.#db.close()
  }

  #weightOf(sections: number): number {
    return Math.log(1 + (this.sections.length + 1) / (Math.max(sections, RARE) + 0.5))
  }

  /** The word of the sections that was probably meant: the nearest, and of equally near ones the most used. */
  #spelling(word: string): string | undefined {
    // Letters beyond the first plane take two units each.
    const { length } = Array.from(word)
    if (length < LEAST_MISSPELT) return undefined
    const most = length < MISSPELT_TWICE ? 1 : 2
    // Hardly anybody misses the first letter, and other words begin with another one.
    return [...(this.#uses.get(word[0] ?? '') ?? [])]
      .map(([candidate, uses]) => ({ candidate, uses, edits: slips(word, candidate) }))
      .filter(({ edits }) => edits <= most)
      .toSorted((x, y) => x.edits - y.edits || y.uses - x.uses)[0]?.candidate
  }

  /** A word as it is looked for: as it was given, or the word it was probably meant to be. */
  #understandWord(given: string): UnderstoodWord {
    const asGiven = this.#lookUp(given)
    const meant = asGiven === undefined ? this.#spelling(given) : undefined
    const word = meant ?? given
    const { rows, wordings } = asGiven ?? (meant === undefined ? undefined : this.#lookUp(meant)) ?? NOWHERE
    const kindred = kindredOf(word)
    const beside = kindred.length === 0 ? NOWHERE : (this.#lookUp(...kindred) ?? NOWHERE)
    return {
      word,
      rows: new Set([...rows, ...beside.rows]),
      wordings: new Map([
        ...beside.wordings.map((row) => [row, KINDRED_SHARE] as const),
        ...wordings.map((row) => [row, 1] as const),
      ]),
      weight: this.#weightOf(rows.length),
    }
  }

  /** The places of any of some words; undefined where none has one. */
  #lookUp(...words: readonly string[]): Places | undefined {
    const placesIn = (statement: StatementSync): number[] =>
      (statement.all(anyOf(words)) as unknown as [number][]).map(([row]) => row)
    const [rows, wordings] = [placesIn(this.#rowsOf), placesIn(this.#wordingsOf)]
    return rows.length + wordings.length === 0 ? undefined : { rows, wordings }
  }

  /**
   * How near a query is to the nearest few wordings of every section that has any, the nearest first: the cosine of
   * both, by the weight of their words.
   */
  #nearestOf({ words }: Understood): Map<number, number[]> {
    const all = expectedOf(words)
    const common = new Map<number, number>()
    for (const { wordings, weight } of words) {
      for (const [row, share] of wordings) common.set(row, (common.get(row) ?? 0) + share * weight)
    }
    const bySection = new Map<number, number[]>()
    for (const [wording, weight] of common) {
      const own = Math.max(weight, this.#wordingWeights[wording] ?? 0)
      const section = this.#sectionOf[wording] ?? UNANSWERED
      const others = bySection.get(section) ?? []
      bySection.set(section, [...others, weight / Math.sqrt(Math.max(all, weight) * own)])
    }
    return bySection
  }

  #fill({ bySection, unanswered }: Asked): void {
    const addSection = this.#db.prepare(
      'INSERT INTO sections (rowid, title, heading, asked, body, code) VALUES (?, ?, ?, ?, ?, ?)',
    )
    const addWording = this.#db.prepare('INSERT INTO wordings (rowid, text) VALUES (?, ?)')
    const ask = (wording: string, row: number): void => {
      // Words that tell nothing would count as such that the question lacks.
      addWording.run(this.#sectionOf.length, queryWords(wording).join(' '))
      this.#sectionOf.push(row)
    }
    for (const [row, { id, pageTitle, heading, blocks }] of this.sections.entries()) {
      const wordings = bySection.get(id) ?? []
      const { code = [], text = [] } = Object.groupBy(blocks, ({ kind }) => (kind === 'code' ? kind : 'text'))
      const body = text.map(blockText).join('\n')
      addSection.run(row, pageTitle, heading, wordings.join('\n'), body, code.map(blockText).join('\n'))
      for (const wording of [heading === '' ? pageTitle : heading, ...wordings]) ask(wording, row)
      this.#countWords(`${pageTitle} ${heading} ${wordings.join(' ')} ${body}`)
    }
    for (const wording of unanswered) ask(wording, UNANSWERED)
  }

  #countWords(text: string): void {
    for (const word of text.toLowerCase().match(/\p{L}{4,}/gu) ?? []) {
      const uses = this.#uses.get(word[0] ?? '') ?? new Map<string, number>()
      this.#uses.set(word[0] ?? '', uses.set(word, (uses.get(word) ?? 0) + 1))
    }
  }

  #weighWordings(): number[] {
    type Row = { term: string; doc: number }
    const stems = this.#db.prepare('SELECT term, doc FROM stems').all() as Row[]
    const rows = new Map(stems.map(({ term, doc }) => [term, doc]))
    const weights = Array<number>(this.#sectionOf.length).fill(0)
    for (const { term, doc } of this.#db.prepare('SELECT DISTINCT term, doc FROM said').all() as Row[]) {
      weights[doc] = (weights[doc] ?? 0) + this.#weightOf(rows.get(term) ?? 0)
    }
    return weights
  }
}

/** The texts of a section whose phrases are known: how it is asked for, and what it says. */
const textsOf = ({ id, heading, pageTitle, blocks }: Section, { bySection }: Asked): SharedText[] => [
  ...[heading || pageTitle, ...(bySection.get(id) ?? [])].map((wording): SharedText => [wording, 1]),
  [blocks.map(blockText).join('\n').slice(0, BODY_CHARACTERS), BODY_SHARE],
]

/** How much of what a query says a section knows, by the weight of its words: 0 to 1. */
function coverageOf(words: readonly UnderstoodWord[], row: number): number {
  const all = expectedOf(words)
  const known = words.reduce((sum, { rows, weight }) => (rows.has(row) ? sum + weight : sum), 0)
  return all === 0 ? 0 : Math.min(1, known / all)
}

/** The most that a section can match of a query, by the weight of its words. */
const expectedOf = (words: readonly UnderstoodWord[]): number =>
  Math.min(
    MOST_EXPECTED,
    words.reduce((sum, { weight }) => sum + weight, 0),
  )

/** The root of the mean square of the greatest few; where there are fewer than a few, the others are far. */
const together = (nearnesses: readonly number[]): number => {
  const nearest = nearnesses.toSorted((a, b) => b - a).slice(0, NEAREST)
  return Math.sqrt(nearest.reduce((sum, one) => sum + one ** 2, 0) / NEAREST)
}

/** Any of some words; within quotation marks nothing is an operator (SQLite, FTS5 §3.1). */
const anyOf = (words: readonly string[]): string =>
  words.map((word) => `"${word.replaceAll('"', '""')}"`).join(' OR ')
