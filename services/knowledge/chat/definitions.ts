import type { Understood } from '../search/search-index.ts'

/** Words that a question for a meaning begins with, as people type them. */
const ASKS =
  /^\W*(?:(?:so|and|please|hi|hello)\W+)*(?:wh?at\W?s|wh?at (?:is|does|do)|define|explain|meaning of)\b/i
/** Words that may stand before the name of a thing. */
const ARTICLES: ReadonlySet<string> = new Set(['a', 'an', 'the', 'your'])
/** Verbs that tell what a thing is or does, and marks behind the name of a row. */
const TELLS: ReadonlySet<string> = new Set(
  ': ( is are means mean says tells lives describes counts ranks holds keeps names stands'.split(' '),
)
/** What is defined has a short name. */
const MOST_WORDS = 4
/** The name and the verb stand within so many characters. */
const BEGINNING = 80

/**
 * What a definition is asked of, as places of the words of the query; undefined where something else is asked.
 *
 * @example subjectOf('What does confidence mean?', index.understand('What does confidence mean?')) // [0]
 */
export function subjectOf(question: string, { words }: Understood): readonly number[] | undefined {
  if (!ASKS.test(question) || words.length === 0 || words.length > MOST_WORDS) return undefined
  return words.flatMap(({ rows }, place) => (rows.size > 0 ? [place] : []))
}

/**
 * Which words of the subject a sentence, or the row of a table, defines: it begins with them, and goes on with a verb
 * that tells, a colon or a bracket. None where it defines something else, or nothing.
 */
export function definedBy(sentence: string, subject: readonly number[], { words }: Understood): number[] {
  const tokens =
    sentence
      .slice(0, BEGINNING)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+|[:(]/gu) ?? []
  const named: number[] = []
  for (const token of ARTICLES.has(tokens[0] ?? '') ? tokens.slice(1) : tokens) {
    const place = subject.find((one) => isSameWord(token, words[one]?.word ?? ''))
    if (place === undefined) return TELLS.has(token) ? named : []
    named.push(place)
  }
  return []
}

/** Endings by which forms of one word differ are left aside. */
function isSameWord(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return a === b || (short.length >= 4 && long.length - short.length <= 2 && long.startsWith(short))
}
