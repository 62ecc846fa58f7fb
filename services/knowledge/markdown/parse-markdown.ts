/** A block of a page, as far as the documentation uses Markdown. Text is still with its inline marks. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string; readonly anchor: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  | {
      readonly kind: 'table'
      readonly header: readonly string[]
      readonly rows: readonly (readonly string[])[]
    }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }

const HEADING = /^(#{1,6}) +(.+?) *$/
const FENCE = /^```(\S*)/
const ROW = /^\|.*\|\s*$/
const ITEM = /^ {0,3}(?:[-*]|(\d{1,3})\.) +(.*)$/
const CELL_LINE = /^:?-+:?$/

/**
 * Takes a page apart. Everything that is not one of the other blocks is a paragraph, so nothing of a page is lost; comments
 * are left out.
 *
 * @example parseMarkdown('# Quotas\n\nEvery call counts.').map(({ kind }) => kind) // ['heading', 'paragraph']
 */
export function parseMarkdown(text: string): Block[] {
  const lines = text
    .replaceAll('\r\n', '\n')
    .replaceAll(/<!--[\s\S]*?-->/g, '')
    .split('\n')
  const blocks: Block[] = []
  const anchors = createAnchors()
  let at = 0
  while (at < lines.length) {
    const line = lines[at] ?? ''
    const heading = HEADING.exec(line)
    if (line.trim() === '') at += 1
    else if (heading !== null) {
      const [, marks = '', title = ''] = heading
      blocks.push({ kind: 'heading', level: marks.length, text: title, anchor: anchors(title) })
      at += 1
    } else {
      const { block, next } = readBlock(lines, at)
      blocks.push(block)
      at = next
    }
  }
  return blocks
}

interface Read {
  readonly block: Block
  /** Index of the line after it. */
  readonly next: number
}

function readBlock(lines: readonly string[], at: number): Read {
  const line = lines[at] ?? ''
  if (FENCE.test(line)) return readCode(lines, at)
  if (ROW.test(line) && isRule(lines[at + 1])) return readTable(lines, at)
  if (ITEM.test(line)) return readList(lines, at)
  return readParagraph(lines, at)
}

function readCode(lines: readonly string[], at: number): Read {
  const end = lines.findIndex((line, index) => index > at && line.startsWith('```'))
  const last = end === -1 ? lines.length : end
  const language = FENCE.exec(lines[at] ?? '')?.[1] ?? ''
  return {
    block: { kind: 'code', language, text: lines.slice(at + 1, last).join('\n') },
    next: last + 1,
  }
}

function readTable(lines: readonly string[], at: number): Read {
  let next = at
  while (ROW.test(lines[next] ?? '')) next += 1
  const [header = [], , ...rows] = lines.slice(at, next).map(cellsOf)
  return { block: { kind: 'table', header, rows }, next }
}

function readList(lines: readonly string[], at: number): Read {
  const items: string[] = []
  let next = at
  for (; next < lines.length; next++) {
    const line = lines[next] ?? ''
    const item = ITEM.exec(line)
    if (item !== null) items.push(item[2] ?? '')
    else if (/^ {2,}\S/.test(line)) items.push(`${items.pop() ?? ''} ${line.trim()}`)
    else break
  }
  const isOrdered = ITEM.exec(lines[at] ?? '')?.[1] !== undefined
  return { block: { kind: 'list', isOrdered, items }, next }
}

function readParagraph(lines: readonly string[], at: number): Read {
  let next = at + 1
  while (next < lines.length && !startsBlock(lines, next)) next += 1
  const text = lines
    .slice(at, next)
    .map((line) => line.trim())
    .join(' ')
  return { block: { kind: 'paragraph', text }, next }
}

function startsBlock(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? ''
  if (line.trim() === '' || HEADING.test(line) || FENCE.test(line) || ITEM.test(line)) return true
  return ROW.test(line) && isRule(lines[at + 1])
}

const isRule = (line: string | undefined): boolean =>
  line !== undefined && ROW.test(line) && cellsOf(line).every((cell) => CELL_LINE.test(cell))

/** Cells of a row; `\|` is a bar inside one. */
const cellsOf = (line: string): string[] =>
  line
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

/** Anchors of one page, as GitHub makes them: a heading that comes again is numbered. */
function createAnchors(): (heading: string) => string {
  const seen = new Map<string, number>()
  return (heading) => {
    const anchor = plainText(heading)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    const times = seen.get(anchor) ?? 0
    seen.set(anchor, times + 1)
    return times === 0 ? anchor : `${anchor}-${times}`
  }
}

/** Text without its inline marks, for headings, excerpts and the index. */
export const plainText = (text: string): string =>
  text
    .replaceAll(/\[([^\]\n]*)\]\([^)\s]+\)/g, '$1')
    .replaceAll(/\*\*([^*]+)\*\*/g, '$1')
    .replaceAll(/(?<![\w*])\*([^\s*][^*\n]*)\*(?![\w*])/g, '$1')
    .replaceAll('`', '')
    .replaceAll(/\s+/g, ' ')
    .trim()
