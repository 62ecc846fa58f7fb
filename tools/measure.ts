import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')
const PRODUCT = /^(?:services|projections|contracts)\/.*\.ts$/
const FOR_TESTS = /\.(?:test|fixture|contract|bench)\.ts$|\/(?:testing|test-servers|fixtures)\//
const TESTS = /^(?:services|projections|contracts|testing|bench|tools|clients)\/.*\.ts$/
const DOCS = /^(?:docs\/(?!decisions\/).*|[^/]+)\.md$/
/** A comment that opens so has a clause for its subject and is read twice. */
const CLAUSE_FIRST = /\/\*\*\s*(?:\* )?(?:What|Whatever|Who|Whoever|Whose|Those|That|Of|Where)\b/g

export interface Measures {
  /** Lines of TypeScript that ship, by room. */
  readonly product: ReadonlyMap<string, number>
  readonly productLines: number
  /** Lines of tests and their support, benches and tools. */
  readonly testLines: number
  /** Lines of Markdown, without decisions. */
  readonly docLines: number
  /** Files that may hold functions of more than 70 lines. */
  readonly longFunctionFiles: number
  readonly commentsOpeningWithAClause: number
}

/** Counts what there is to read, from the files that git tracks. */
export function measure(): Measures {
  const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n')
  const isProduct = (file: string): boolean => PRODUCT.test(file) && !FOR_TESTS.test(file)
  const product = new Map<string, number>()
  let commentsOpeningWithAClause = 0
  for (const file of files.filter(isProduct)) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    const room = /^(?:services\/[^/]+(?=\/)|[^/]+)/.exec(file)?.[0] ?? ''
    product.set(room, (product.get(room) ?? 0) + linesOf(text))
    commentsOpeningWithAClause += text.match(CLAUSE_FIRST)?.length ?? 0
  }
  const sum = (isCounted: (file: string) => boolean): number =>
    files
      .filter(isCounted)
      .reduce((lines, file) => lines + linesOf(readFileSync(join(ROOT, file), 'utf8')), 0)
  return {
    product,
    productLines: [...product.values()].reduce((total, lines) => total + lines, 0),
    testLines: sum((file) => TESTS.test(file) && !isProduct(file)),
    docLines: sum((file) => DOCS.test(file)),
    longFunctionFiles: longFunctionFiles(),
    commentsOpeningWithAClause,
  }
}

const linesOf = (text: string): number => text.split('\n').length - 1

function longFunctionFiles(): number {
  const { overrides } = JSON.parse(readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8')) as {
    readonly overrides: readonly { readonly files: readonly string[] }[]
  }
  return overrides.flatMap(({ files }) => files).filter((file) => !file.includes('*')).length
}

if (import.meta.main) {
  const { product, ...sums } = measure()
  for (const [room, lines] of product) process.stdout.write(`${String(lines).padStart(6)}  ${room}\n`)
  for (const [name, number] of Object.entries(sums))
    process.stdout.write(`${String(number).padStart(6)}  ${name}\n`)
}
