type Row = Readonly<Record<string, string | number | null>>

/** A cell of a table file (RFC 4180). What a spreadsheet would run as a formula is kept as text. */
function cellOf(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const line = (cells: readonly string[]): string => `${cells.join(',')}\r\n`

/** Rows as CSV, with the names of the first row as the heading. */
export function csvOf(rows: readonly Row[], names = Object.keys(rows[0] ?? {})): string {
  return line(names) + bodyOf(rows, names)
}

const bodyOf = (rows: readonly Row[], names: readonly string[]): string =>
  rows.map((row) => line(names.map((name) => cellOf(row[name] ?? null)))).join('')

/** The same of rows that come page by page. @param first the first page, which names the columns */
export async function* csvLines(
  first: readonly Row[],
  rest: AsyncIterable<readonly Row[]>,
): AsyncGenerator<string, void, void> {
  const names = Object.keys(first[0] ?? {})
  yield csvOf(first, names)
  for await (const rows of rest) yield bodyOf(rows, names)
}
