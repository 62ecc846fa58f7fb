import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ReportedRow } from './measure.ts'
import { pathLimits } from './path-limits.ts'

interface Results {
  /** ISO 8601. */
  readonly date: string
  readonly node: string
  readonly machine: string
  readonly is_quiet: boolean
  readonly rows: readonly ReportedRow[]
}

const PAGE = join(import.meta.dirname, '../../docs/benchmarks.md')
const [BEGINS, ENDS] = ['<!-- rows -->', '<!-- end of rows -->'] as const

/** The part of a page with the rows of a run; what stands around it stays as it is. */
export function pageWithRows(
  page: string,
  { date, node, machine, is_quiet: isQuiet, rows }: Results,
): string {
  const [before, rest = ''] = page.split(BEGINS)
  const after = rest.split(ENDS)[1]
  if (after === undefined) throw new Error(`docs/benchmarks.md has no ${BEGINS} and ${ENDS}`)
  const quiet = isQuiet ? 'quiet' : 'not quiet'
  const compared = rows.filter(({ name, base }) => name !== base)
  return `${before}${BEGINS}
Measured on ${date.slice(0, 10)} with Node.js ${node} on ${machine}; the machine was ${quiet}.

| benchmark | work | per second | ratio | spread | beside |
|---|---|---|---|---|---|
${compared.map(lineOf).join('\n')}

The limit of a path is the sum of what its parts took in this run, as if one core did them one after the other. Work that
overlaps on two cores can beat it.

| path | parts, µs | limit | took | share of the limit |
|---|---|---|---|---|
${pathLimits(rows).join('\n')}

${ENDS}${after}`
}

const lineOf = ({
  bench,
  title,
  name,
  median,
  ratio,
  ratio_low: low,
  ratio_high: high,
  base,
}: ReportedRow): string =>
  `| ${[bench, `${title}: ${name}`, median.toLocaleString('en'), ratio.toPrecision(3), `${low.toPrecision(2)}–${high.toPrecision(2)}`, base].map((cell) => cell.replaceAll('|', '/')).join(' | ')} |`

export function writePage(results: Results): void {
  writeFileSync(PAGE, pageWithRows(readFileSync(PAGE, 'utf8'), results))
}
