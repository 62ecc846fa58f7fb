import { type Block, plainText } from '../markdown/parse-markdown.ts'

/** A block as plain text: lists and tables in their lines, with the numbers of the one and the header of the other. */
export function blockText(block: Block): string {
  if (block.kind === 'code') return block.text
  if (block.kind === 'list') {
    const markOf = (place: number): string => (block.isOrdered ? `${place + 1}.` : '-')
    return block.items.map((item, place) => `${markOf(place)} ${plainText(item)}`).join('\n')
  }
  if (block.kind === 'table') {
    const rule = block.header.map(() => '---')
    return [block.header, rule, ...block.rows].map(rowText).join('\n')
  }
  return plainText(block.text)
}

const rowText = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => plainText(cell).replaceAll('|', '\\|')).join(' | ')} |`
