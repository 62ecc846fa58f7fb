/** A Markdown page in the parts that can be checked. */
export interface MarkdownPage {
  /** Anchors of the headings, as GitHub makes them. */
  readonly anchors: readonly string[]
  /** Targets of the links outside of code. */
  readonly links: readonly string[]
  /** Text between backticks, outside of fenced blocks. */
  readonly spans: readonly string[]
  readonly blocks: readonly { readonly language: string; readonly text: string }[]
  /** Rows of all tables, each cell by the header of its column, in lower case. */
  readonly rows: readonly Readonly<Record<string, string>>[]
}

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm
const SPAN = /`([^`\n]+)`/g
const LINK = /\[[^\]\n]*\]\(([^)\s]+)\)/g

/** Takes a page apart; enough Markdown for the pages of this project, not for all there is. */
export function readMarkdown(text: string): MarkdownPage {
  const prose = text.replaceAll(FENCE, '')
  return {
    anchors: anchorsOf(prose),
    links: matchesOf(prose.replaceAll(SPAN, ''), LINK),
    spans: matchesOf(prose, SPAN),
    blocks: [...text.matchAll(FENCE)].map(([, language = '', block = '']) => ({ language, text: block })),
    rows: rowsOf(prose),
  }
}

/** Everything between backticks in a piece of text, such as a table cell. */
export const spansOf = (text: string): string[] => matchesOf(text, SPAN)

const matchesOf = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? '')

function anchorsOf(prose: string): string[] {
  const seen = new Map<string, number>()
  return matchesOf(prose, /^#{1,6} (.+)$/gm).map((heading) => {
    const anchor = heading
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    const times = seen.get(anchor) ?? 0
    seen.set(anchor, times + 1)
    return times === 0 ? anchor : `${anchor}-${times}`
  })
}

function rowsOf(prose: string): Readonly<Record<string, string>>[] {
  const tables = prose.match(/(?:^\|.*\|$\n?)+/gm) ?? []
  return tables.flatMap((table) => {
    const [header = [], , ...rows] = table
      .trimEnd()
      .split('\n')
      .map((line) =>
        line
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim()),
      )
    return rows.map((cells) =>
      Object.fromEntries(header.map((name, index) => [name.toLowerCase(), cells[index] ?? ''])),
    )
  })
}
