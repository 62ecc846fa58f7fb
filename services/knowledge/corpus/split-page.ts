import { type Block, plainText } from '../markdown/parse-markdown.ts'
import type { DocPage } from './read-pages.ts'

/** A section of a page, or a part of a long one: what is found, quoted and cited. */
export interface Passage {
  /** Page and section, as in `quotas#how-many-calls-are-there`; parts of one section share it. */
  readonly id: string
  readonly page: string
  /** Whether it is of a page that is made from the code: complete, and no introduction to anything. */
  readonly isReference: boolean
  /** Of the heading that the section begins with. */
  readonly anchor: string
  readonly pageTitle: string
  /** Headings that the section stands under, without the page's title. */
  readonly heading: string
  /** What can be quoted: sentences, items of lists, rows of tables. Plain text. */
  readonly sentences: readonly string[]
  /** The same with what stands in fenced blocks, as it is laid out. */
  readonly units: readonly Unit[]
  /** What stands in fenced blocks. */
  readonly code: string
}

/** What is quoted as a whole: its sentences may lean on one another. */
export interface Unit {
  readonly kind: 'paragraph' | 'item' | 'row' | 'code'
  /** Number of its block on the page: the items of one list share it, and the rows of one table. */
  readonly block: number
  /** Those of the passage from this place on; of a fenced block its text. */
  readonly from: number
  readonly sentences: readonly string[]
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
      const { sentences, units, code } = part
      const { name, title: pageTitle, isReference } = page
      passages.push({ id, page: name, isReference, anchor, pageTitle, heading, sentences, units, code })
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

type Part = Pick<Passage, 'sentences' | 'units' | 'code'>

function partsOf(blocks: readonly Block[]): Part[] {
  const parts: { sentences: string[]; units: Unit[]; code: string; size: number }[] = []
  const room = (size: number) => {
    const last = parts.at(-1)
    if (last !== undefined && last.size + size <= PART_CHARACTERS) {
      last.size += size
      return last
    }
    const fresh = { sentences: [], units: [], code: '', size }
    parts.push(fresh)
    return fresh
  }
  for (const [number, block] of blocks.entries()) {
    if (block.kind === 'code') {
      // An example belongs to the words before it, however long it is.
      const part = parts.at(-1) ?? room(0)
      part.code += `${block.text}\n`
      part.units.push({ kind: 'code', block: number, from: part.sentences.length, sentences: [block.text] })
      continue
    }
    for (const { kind, sentences } of unitsOf(block)) {
      const part = room(sentences.join(' ').length)
      part.units.push({ kind, block: number, from: part.sentences.length, sentences })
      part.sentences.push(...sentences)
    }
  }
  return parts
}

function unitsOf(block: Exclude<Block, { kind: 'code' }>): Pick<Unit, 'kind' | 'sentences'>[] {
  if (block.kind === 'paragraph')
    return [{ kind: 'paragraph', sentences: toSentences(plainText(block.text)) }]
  if (block.kind === 'list') {
    return block.items.map((item) => ({ kind: 'item', sentences: toSentences(plainText(item)) }))
  }
  if (block.kind !== 'table') return []
  return block.rows.map((cells) => ({ kind: 'row', sentences: [rowSentence(block.header, cells)] }))
}

/** Sentences end at a mark that is followed by a blank and a capital, a digit or a quotation mark. */
const toSentences = (text: string): string[] =>
  text.split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}"“„])/u).filter((sentence) => sentence !== '')

/** A row as it would be said: the first cell names what the others tell, and the last tells it where it is in words. */
function rowSentence(header: readonly string[], cells: readonly string[]): string {
  const [first = '', ...others] = cells.map(plainText)
  const named = others
    .map((cell, index) => ({ name: plainText(header[index + 1] ?? ''), cell }))
    .filter(({ cell }) => cell !== '')
  const last = named.at(-1)
  if (last === undefined) return first
  if (others.length > 1 && last.cell.length >= IN_WORDS && last.cell === plainText(cells.at(-1) ?? '')) {
    const before = named.slice(0, -1).map(({ name, cell }) => `${name} ${cell}`.trim())
    return before.length === 0 ? `${first}: ${last.cell}` : `${first} (${before.join(', ')}): ${last.cell}`
  }
  const rest = named.map(({ name, cell }) => (others.length === 1 || name === '' ? cell : `${name}: ${cell}`))
  return `${first}: ${rest.join('; ')}`
}

/** A cell of so many characters is no value but words. */
const IN_WORDS = 25
