import type { Json, JsonObject } from '../../../contracts/json.ts'

type Output = NodeJS.WritableStream & { readonly isTTY?: boolean }

/** The answer of a service on standard output: for people on a terminal, JSON, one object a line, for programs. */
export interface AnswerWriter {
  /** One answer: a line for each of its fields. */
  one(answer: object): void
  /** A page of a list: a table, whose columns are as wide as the first page needs. */
  rows(page: readonly object[]): void
}

/** @param columns of a table, by the names of fields; @param isJson also on a terminal */
export function answerWriter(output: Output, columns: readonly string[], isJson: boolean): AnswerWriter {
  const isTable = output.isTTY === true && !isJson
  const json = (answer: object): void => void output.write(`${JSON.stringify(answer)}\n`)
  let widths: number[] | undefined
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, place) => cell.padEnd(widths?.[place] ?? 0))
      .join('  ')
      .trimEnd()
  return {
    one: (answer) =>
      isTable ? void output.write(`${fieldLines(answer as JsonObject).join('\n')}\n`) : json(answer),
    rows(page) {
      if (!isTable) return page.forEach(json)
      const cells = page.map((row) => columns.map((name) => cellOf((row as JsonObject)[name])))
      if (widths === undefined) {
        const heads = columns.map((name) => name.replaceAll('_', ' '))
        widths = heads.map((head, place) =>
          Math.max(head.length, ...cells.map((row) => row[place]?.length ?? 0)),
        )
        output.write(`${line(heads)}\n`)
      }
      for (const row of cells) output.write(`${line(row)}\n`)
    },
  }
}

const cellOf = (value: Json | undefined): string =>
  value === null || value === undefined
    ? '—'
    : Array.isArray(value)
      ? value.map(cellOf).join(', ')
      : typeof value === 'object'
        ? Object.values(value).map(cellOf).join('  ')
        : String(value)

/** A line for each field, and one for each object of a list. */
function fieldLines(answer: JsonObject): string[] {
  const width = Math.max(...Object.keys(answer).map((name) => name.length)) + 2
  const line = (name: string, value: Json | undefined) =>
    `${name.replaceAll('_', ' ').padEnd(width)}${cellOf(value)}`.trimEnd()
  return Object.entries(answer).flatMap(([name, value]) =>
    Array.isArray(value) && value.some((one) => typeof one === 'object')
      ? value.map((one) => line(name, one as Json))
      : [line(name, value)],
  )
}
