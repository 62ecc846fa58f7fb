import type { ReportedRow } from './measure.ts'

type Asked = Pick<ReportedRow, 'bench' | 'title' | 'name' | 'ratio' | 'floor'>

const keyOf = ({ bench, title, name }: Asked): string => `${bench}, ${title}: ${name}`
const verdictOf = ({ ratio, floor }: Asked): string => (ratio >= (floor ?? 0) ? 'meets' : 'misses')

/**
 * Compares what two runs found of the rows that have a floor.
 *
 * @returns lines to print: how many have the same verdict in both, and each one that has not
 */
export function compareVerdicts(rows: readonly Asked[], former: readonly Asked[]): string[] {
  const asked = rows.filter(({ floor }) => floor !== null)
  const met = asked.filter((row) => verdictOf(row) === 'meets').length
  const before = new Map(former.map((row) => [keyOf(row), row]))
  const pairs = asked.flatMap((row) => {
    const same = before.get(keyOf(row))
    return same?.floor === row.floor ? [[row, same] as const] : []
  })
  const others = pairs.filter(([row, same]) => verdictOf(row) !== verdictOf(same))
  return [
    `${met} of ${asked.length} rows with a floor meet it`,
    ...(pairs.length === 0
      ? []
      : [`${pairs.length - others.length} of ${pairs.length} have the verdict of the run before`]),
    ...others.map(
      ([row, same]) =>
        `  ${keyOf(row)} ${verdictOf(row)} ${row.floor} now: × ${same.ratio.toPrecision(3)} then, × ${row.ratio.toPrecision(3)} now`,
    ),
  ]
}
