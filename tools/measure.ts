import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { answerHelp } from '../testing/answer-help.ts'

const ROOT = resolve(import.meta.dirname, '..')
const SOURCES = /^(?!.*\/fixtures\/).*\.(?:ts|mjs|js)$/
const PRODUCT = /^(?:services|projections|contracts)\/.*\.ts$/
const FOR_TESTS = /\.(?:test|fixture|contract|bench)\.ts$|\/(?:testing|test-servers|fixtures)\//
const TESTS = /^(?:services|projections|contracts|testing)\/.*\.ts$|^(?:bench|tools)\/.*\.test\.ts$/
/** Written by `npm run docs`. */
const GENERATED = 'clients/typescript/src/types.ts'
const BESIDE = /^(?:bench|tools|clients)\/.*(?<!\.test)\.ts$|^clients\/.*\.test\.ts$/
const PAGES = /^(?:docs\/.*|[^/]+)\.md$/
const DOCS = /^(?:docs\/(?!decisions\/).*|[^/]+)\.md$/
/** A comment that opens so has a clause for its subject and is read twice. */
const CLAUSE_FIRST = /\/\*\*\s*(?:\* )?(?:What|Whatever|Who|Whoever|Whose|Those|That|Of|Where)\b/g

/** Private words and shapes of sentences; the field has its own. */
const PRIVATE_WORDS =
  /\b(?:whoever|whatever|to be had|is told|are told|was told|heard of|in our hand|in (?:its|their) hand|stands? in line|gives? way|are had)\b/gi
const LONG_FUNCTION = /\/\/ oxlint-disable.* max-lines-per-function.*/g
const LONGEST_SENTENCE_WORDS = 30
const LONGEST_LINE = 160

export interface Measures {
  /** Lines of TypeScript that ship, by room. */
  readonly product: ReadonlyMap<string, number>
  readonly productLines: number
  /** Lines of tests and their support. */
  readonly testLines: number
  /** Lines of benches, tools and clients. */
  readonly toolLines: number
  /** Lines of Markdown, without decisions. */
  readonly docLines: number
  /** Functions that may have more than 70 lines. */
  readonly longFunctions: number
  /** Long functions without a reason beside their name. */
  readonly longFunctionsWithoutReason: number
  readonly commentsOpeningWithAClause: number
  /** Calls of `assert` in what ships; they may only rise. */
  readonly assertions: number
  /** Private words in product code, its comments and texts, and in the documentation. */
  readonly privateWords: number
  /** Sentences of the documentation with more than {@link LONGEST_SENTENCE_WORDS} words, tables and code left out. */
  readonly longSentences: number
  /** Lines of Markdown, decisions included, with more than {@link LONGEST_LINE} characters, tables and code left out. */
  readonly longLines: number
}

/** Counts what there is to read, from the files that git tracks. */
export function measure(): Measures {
  const all = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n')
  const files = all.filter((file) => file !== GENERATED)
  const isProduct = (file: string): boolean => PRODUCT.test(file) && !FOR_TESTS.test(file)
  const product = new Map<string, number>()
  let [commentsOpeningWithAClause, assertions, privateWords, longSentences, longLines] = [0, 0, 0, 0, 0]
  for (const file of files.filter(isProduct)) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const room = /^(?:services\/[^/]+(?=\/)|[^/]+)/.exec(file)?.[0] ?? ''
    product.set(room, (product.get(room) ?? 0) + linesOf(text))
    assertions += text.match(/(?<!function )\bassert\(/g)?.length ?? 0
    privateWords += text.match(PRIVATE_WORDS)?.length ?? 0
  }
  for (const file of files.filter((one) => SOURCES.test(one)))
    commentsOpeningWithAClause += readFileSync(join(ROOT, file), 'utf8').match(CLAUSE_FIRST)?.length ?? 0
  const longFunctions = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => readFileSync(join(ROOT, file), 'utf8').match(LONG_FUNCTION) ?? [])
  for (const file of files.filter((one) => DOCS.test(one))) {
    const prose = proseOf(readFileSync(join(ROOT, file), 'utf8'))
    privateWords += prose.match(PRIVATE_WORDS)?.length ?? 0
    longSentences += sentencesOf(prose).filter(
      (sentence) => wordsOf(sentence) > LONGEST_SENTENCE_WORDS,
    ).length
  }
  for (const file of files.filter((one) => PAGES.test(one))) {
    const prose = proseOf(readFileSync(join(ROOT, file), 'utf8'))
    longLines += prose.split('\n').filter((line) => line.length > LONGEST_LINE).length
  }
  const sum = (isCounted: (file: string) => boolean): number =>
    files
      .filter(isCounted)
      .reduce((lines, file) => lines + linesOf(readFileSync(join(ROOT, file), 'utf8')), 0)
  return {
    product,
    productLines: [...product.values()].reduce((total, lines) => total + lines, 0),
    testLines: sum((file) => TESTS.test(file) && !isProduct(file)),
    toolLines: sum((file) => BESIDE.test(file)),
    docLines: sum((file) => DOCS.test(file)),
    longFunctions: longFunctions.length,
    longFunctionsWithoutReason: longFunctions.filter((comment) => !comment.includes(' -- ')).length,
    commentsOpeningWithAClause,
    assertions,
    privateWords,
    longSentences,
    longLines,
  }
}

/** Markdown without code blocks, tables and comments. */
const proseOf = (markdown: string): string =>
  markdown
    .replaceAll(/```[\s\S]*?```/g, '')
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .replaceAll(/^ *\|.*$/gm, '')

const sentencesOf = (prose: string): string[] =>
  prose.split(/\n\s*\n|\n(?= *(?:[-*#]|\d+\.) )/).flatMap((block) => block.split(/(?<=[.!?:;])\s+/))

const wordsOf = (sentence: string): number => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length

const linesOf = (text: string): number => text.split('\n').length - 1

if (import.meta.main) {
  answerHelp(`Counts the lines of each room, and what may only fall: long functions, comments and sentences that are hard to read.

  npm run measure`)
  const { product, ...sums } = measure()
  for (const [room, lines] of product) process.stdout.write(`${String(lines).padStart(6)}  ${room}\n`)
  for (const [name, number] of Object.entries(sums))
    process.stdout.write(`${String(number).padStart(6)}  ${name}\n`)
}
