/** A shipped file breaks its lines where they are longer. */
const LINE = 110

/**
 * Data as the text of a file: two spaces deeper at each level, and a list of plain values on one line where it has room, as
 * the formatter of this project writes it. So a file that was fitted is the file that is shipped.
 *
 * @example jsonText({ sources: ['1h', '2h'] }) // '{\n  "sources": ["1h", "2h"]\n}\n'
 */
export function jsonText(data: unknown): string {
  return `${lines(data, '', 0)}\n`
}

/** @param before characters of the line that the value begins on, the indent included */
function lines(value: unknown, indent: string, before: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const deeper = `${indent}  `
  if (!Array.isArray(value)) {
    const entries = Object.entries(value).filter(([, one]) => one !== undefined)
    if (entries.length === 0) return '{}'
    const parts = entries.map(([key, one]) => {
      const name = `${JSON.stringify(key)}: `
      return `${deeper}${name}${lines(one, deeper, deeper.length + name.length)}`
    })
    return `{\n${parts.join(',\n')}\n${indent}}`
  }
  if (value.length === 0) return '[]'
  const texts = value.map((one) => lines(one, deeper, deeper.length))
  const flat = `[${texts.join(', ')}]`
  // One more character for the comma behind it.
  if (value.every((one) => typeof one !== 'object' || one === null) && before + flat.length < LINE)
    return flat
  // Numbers fill their lines; everything else stands on lines of its own.
  if (!value.every((one) => typeof one === 'number'))
    return `[\n${texts.map((text) => deeper + text).join(',\n')}\n${indent}]`
  const rows: string[] = []
  for (const text of texts) {
    const last = rows.at(-1)
    if (last !== undefined && `${deeper}${last}, ${text},`.length <= LINE)
      rows[rows.length - 1] = `${last}, ${text}`
    else rows.push(text)
  }
  return `[\n${rows.map((row) => deeper + row).join(',\n')}\n${indent}]`
}
