/** A cell of a table file (RFC 4180). What a spreadsheet would run as a formula is kept as text. */
function cellOf(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Rows as CSV, with the names of the first row as the heading. */
export function csvOf(rows: readonly Readonly<Record<string, string | number | null>>[]): string {
  const names = Object.keys(rows[0] ?? {})
  const lines = rows.map((row) => names.map((name) => cellOf(row[name] ?? null)).join(','))
  return [names.join(','), ...lines].map((line) => `${line}\r\n`).join('')
}
