import type { Understood } from '../search/search-index.ts'

/** Words that a question for a meaning begins with, as people type them. */
const ASKS = /^\W*(?:(?:so|and|please|hi|hello)\W+)*(?:wh?at\W?s|wh?at (?:is|are|does|do)|define|explain|meaning of)\b/i
/** Words that may stand before the name of a thing. */
const ARTICLES: ReadonlySet<string> = new Set(['a', 'an', 'the', 'your'])
/** Verbs that tell what a thing is or does. */
const TELLS: ReadonlySet<string> = new Set(
  'is are means mean says tells lives describes counts ranks holds keeps names stands'.split(' '),
)
/** What is defined has a short name. */
const MOST_WORDS = 4

/**
 * What a definition is asked of, the most telling word first; undefined where something else is asked.
 *
 * @example subjectOf('What does confidence mean?', index.understand('What does confidence mean?')) // ['confidence']
 */
export function subjectOf(question: string, { words }: Understood): readonly string[] | undefined {
  if (!ASKS.test(question) || words.length === 0 || words.length > MOST_WORDS) return undefined
  const known = words.filter(({ rows }) => rows.size > 0)
  return known.toSorted((a, b) => b.weight - a.weight).map(({ word }) => singular(word))
}

/**
 * Whether a sentence, or the row of a table, says what something is: it begins with its name, and goes on with a verb
 * that tells, a colon or a bracket.
 *
 * @param subject words of its name, the most telling first; that one has to be there
 */
export function defines(sentence: string, subject: readonly string[]): boolean {
  const [telling] = subject
  if (telling === undefined) return false
  const tokens = sentence.slice(0, BEGINNING).toLowerCase().match(/[\p{L}\p{N}]+|[:(]/gu) ?? []
  let place = ARTICLES.has(tokens[0] ?? '') ? 1 : 0
  let isNamed = false
  while (subject.includes(singular(tokens[place] ?? ''))) {
    isNamed ||= singular(tokens[place] ?? '') === telling
    place += 1
  }
  const next = tokens[place] ?? ''
  return isNamed && (next === ':' || next === '(' || TELLS.has(next))
}

/** The name and the verb stand within so many characters. */
const BEGINNING = 80

const singular = (word: string): string => (word.length > 3 ? word.replace(/s$/, '') : word)
