import { type Block, plainText } from '../markdown/parse-markdown.ts'

/** A block as plain text: lists and tables in their lines, with the numbers of the one and the header of the other. */
export function blockText(block: Block): string {
  switch (block.kind) {
    case 'heading':
    case 'paragraph':
      return plainText(block.text)
    case 'code':
      return block.text
    case 'list':
      return block.items
        .map((item, place) => `${block.isOrdered ? `${place + 1}.` : '-'} ${plainText(item)}`)
        .join('\n')
    case 'table':
      return [rowText(block.header), rowText(block.header.map(() => '---')), ...block.rows.map(rowText)].join(
        '\n',
      )
  }
}

const rowText = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => plainText(cell).replaceAll('|', '\\|')).join(' | ')} |`
