import { marked, type Token, type Tokens } from 'marked'

/** A block of a page. Text still has its inline marks. */
export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string; readonly anchor: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | {
      readonly kind: 'table'
      readonly header: readonly string[]
      readonly rows: readonly (readonly string[])[]
    }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }

/**
 * The blocks of a page. Comments are left out; what is none of the other kinds is a paragraph, so no text is lost.
 *
 * @example parseMarkdown('# Quotas\n\nEvery call counts.').map(({ kind }) => kind) // ['heading', 'paragraph']
 */
export function parseMarkdown(text: string): Block[] {
  const anchorOf = createAnchors()
  return marked.lexer(text.replaceAll(/<!--[\s\S]*?-->/g, '')).flatMap((token) => blockOf(token, anchorOf))
}

function blockOf(token: Token, anchorOf: (heading: string) => string): Block | [] {
  if (token.type === 'heading') {
    const { depth, text } = token as Tokens.Heading
    return { kind: 'heading', level: depth, text, anchor: anchorOf(text) }
  }
  if (token.type === 'code') return { kind: 'code', text: (token as Tokens.Code).text }
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table
    const textsOf = (cells: readonly Tokens.TableCell[]): string[] => cells.map((cell) => cell.text)
    return { kind: 'table', header: textsOf(header), rows: rows.map(textsOf) }
  }
  if (token.type === 'list') {
    const { ordered: isOrdered, items } = token as Tokens.List
    return { kind: 'list', isOrdered, items: items.map((item) => inOneLine(item.text)) }
  }
  const line = inOneLine(token.type === 'paragraph' ? (token as Tokens.Paragraph).text : token.raw)
  return line === '' ? [] : { kind: 'paragraph', text: line }
}

const inOneLine = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, ' ')

/** Anchors of one page, as GitHub makes them: a repeated heading is numbered. */
function createAnchors(): (heading: string) => string {
  const uses = new Map<string, number>()
  return (heading) => {
    const anchor = plainText(heading)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    const before = uses.get(anchor) ?? 0
    uses.set(anchor, before + 1)
    return before === 0 ? anchor : `${anchor}-${before}`
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

/** A block as plain text: lists and tables in lines, with their numbers and their header. */
export function blockText(block: Block): string {
  if (block.kind === 'code') return block.text
  if (block.kind === 'list') {
    const markOf = (at: number): string => (block.isOrdered ? `${at + 1}.` : '-')
    return block.items.map((item, at) => `${markOf(at)} ${plainText(item)}`).join('\n')
  }
  if (block.kind === 'table') {
    const rule = block.header.map(() => '---')
    return [block.header, rule, ...block.rows].map(rowText).join('\n')
  }
  return plainText(block.text)
}

const rowText = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => plainText(cell).replaceAll('|', '\\|')).join(' | ')} |`
