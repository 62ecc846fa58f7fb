import { type Block, plainText } from '../markdown/parse-markdown.ts'
import type { DocPage } from './read-pages.ts'

/** A section of a page, or a part of a long one: what is found, quoted and cited. */
export interface Passage {
  /** Page and section, as in `quotas#how-many-calls-are-there`; parts of one section share it. */
  readonly id: string
  readonly page: string
  /** Of the heading that the section begins with. */
  readonly anchor: string
  readonly pageTitle: string
  /** Headings that the section stands under, without the page's title. */
  readonly heading: string
  /** What can be quoted: sentences, items of lists, rows of tables. Plain text. */
  readonly sentences: readonly string[]
  /** What stands in fenced blocks. */
  readonly code: string
}

/** A section longer than this is found by the part of it that fits. */
const PART_CHARACTERS = 900

/** The sections of a page, long ones in parts. */
export function splitPage(page: DocPage): Passage[] {
  const passages: Passage[] = []
  let path: { readonly level: number; readonly text: string }[] = []
  let anchor = ''
  let blocks: Block[] = []
  const close = (): void => {
    const heading = path.map(({ text }) => text).join(' – ')
    const id = `${page.name}#${anchor}`
    for (const part of partsOf(blocks)) {
      passages.push({ id, page: page.name, anchor, pageTitle: page.title, heading, ...part })
    }
    blocks = []
  }
  for (const block of page.blocks) {
    if (block.kind !== 'heading') {
      blocks.push(block)
      continue
    }
    close()
    anchor = block.anchor
    const isTitle = block.level === 1
    path = isTitle
      ? []
      : [
          ...path.filter(({ level }) => level < block.level),
          { level: block.level, text: plainText(block.text) },
        ]
  }
  close()
  return passages
}

function partsOf(blocks: readonly Block[]): { sentences: string[]; code: string }[] {
  const parts: { sentences: string[]; code: string; size: number }[] = []
  const room = (size: number) => {
    const last = parts.at(-1)
    if (last !== undefined && last.size + size <= PART_CHARACTERS) {
      last.size += size
      return last
    }
    const fresh = { sentences: [], code: '', size }
    parts.push(fresh)
    return fresh
  }
  for (const block of blocks) {
    if (block.kind === 'code') {
      // An example belongs to the words before it, however long it is.
      const part = parts.at(-1) ?? room(0)
      part.code += `${block.text}\n`
      continue
    }
    for (const sentence of sentencesOf(block)) room(sentence.length).sentences.push(sentence)
  }
  return parts
}

function sentencesOf(block: Exclude<Block, { kind: 'code' }>): string[] {
  if (block.kind === 'paragraph') return toSentences(plainText(block.text))
  if (block.kind === 'list') return block.items.flatMap((item) => toSentences(plainText(item)))
  if (block.kind === 'table') return block.rows.map((cells) => rowSentence(block.header, cells))
  return []
}

/** Sentences end at a mark that is followed by a blank and a capital, a digit or a quotation mark. */
const toSentences = (text: string): string[] =>
  text.split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}"“„])/u).filter((sentence) => sentence !== '')

/** A row as it would be said: the first cell names what the others tell. */
function rowSentence(header: readonly string[], cells: readonly string[]): string {
  const [first = '', ...others] = cells.map(plainText)
  const rest = others
    .map((cell, index) => ({ name: plainText(header[index + 1] ?? ''), cell }))
    .filter(({ cell }) => cell !== '')
    .map(({ name, cell }) => (others.length === 1 || name === '' ? cell : `${name}: ${cell}`))
  return rest.length === 0 ? first : `${first}: ${rest.join('; ')}`
}
