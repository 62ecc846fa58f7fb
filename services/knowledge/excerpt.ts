import { LIMITS } from '../../contracts/limits.ts'
import { type Block, blockText } from './markdown.ts'

/** How much of what was asked a text contains. */
export type ValueOf = (text: string) => number

const GAP = '\n\n'

/** The part of a section that fits a query best, in one line: the whole if it fits, else from its best sentence or row. */
export function excerptOf(blocks: readonly Block[], valueOf: ValueOf): string {
  const whole = blocks.map(blockText).join('\n')
  const units = whole.split(/\n|(?<=[.!?])\s+/)
  const best = whole.length <= LIMITS.excerptCharacters ? 0 : (byValue(units, valueOf)[0] ?? 0)
  return shortened(units.slice(best).join(' ').replaceAll(/\s+/g, ' ').trim(), LIMITS.excerptCharacters)
}

/** Text cut after its last whole word. */
export function shortened(text: string, characters: number): string {
  if (text.length <= characters) return text
  const cut = text.slice(0, characters - 2)
  const end = cut.lastIndexOf(' ')
  return `${(end === -1 ? cut : cut.slice(0, end)).toWellFormed()} …`
}

/**
 * Quotes a section in its order: the whole of it if it fits, else the pieces with most of what was asked. A list or a
 * table stays with the words that introduce it; of one that is too long the best lines are quoted, a table's with its
 * header.
 *
 * @param room characters; a single paragraph may be longer
 */
export function quoteSection(blocks: readonly Block[], valueOf: ValueOf, room: number): string {
  const whole = textOf(blocks)
  if (whole.length <= room) return whole
  const pieces = piecesOf(blocks)
  const quoted = new Map<number, string>()
  let left = room
  for (const at of byValue(pieces.map(textOf), valueOf)) {
    const piece = pieces[at] ?? []
    const text = quoted.size === 0 ? fitted(piece, valueOf, left) : textOf(piece)
    if (quoted.size > 0 && text.length > left) continue
    quoted.set(at, text)
    left -= text.length + GAP.length
  }
  return [...quoted]
    .toSorted(([a], [b]) => a - b)
    .map(([, text]) => text)
    .join(GAP)
}

const textOf = (blocks: readonly Block[]): string => blocks.map(blockText).join(GAP)

/** Indices of texts, the most valuable first. */
function byValue(texts: readonly string[], valueOf: ValueOf): number[] {
  const values = texts.map(valueOf)
  return [...texts.keys()].toSorted((a, b) => (values[b] ?? 0) - (values[a] ?? 0) || a - b)
}

/** Blocks that are quoted together: a paragraph that ends with a colon, and the block it introduces. */
function piecesOf(blocks: readonly Block[]): Block[][] {
  const pieces: Block[][] = []
  for (const [at, block] of blocks.entries()) {
    const before = blocks[at - 1]
    if (before?.kind === 'paragraph' && before.text.endsWith(':')) pieces.at(-1)?.push(block)
    else pieces.push([block])
  }
  return pieces
}

/** A piece with as many of the best lines of its last block as fit; an example is left out instead. */
function fitted(piece: readonly Block[], valueOf: ValueOf, room: number): string {
  const last = piece.at(-1)
  const text = textOf(piece)
  if (text.length <= room || last === undefined) return text
  const before = textOf(piece.slice(0, -1))
  if (last.kind === 'code') return before || text
  if (last.kind !== 'list' && last.kind !== 'table') return text
  const lines = blockText(last).split('\n')
  const head = last.kind === 'table' ? lines.slice(0, 2) : []
  const body = lines.slice(head.length)
  let left = room - before.length - head.join('\n').length
  const chosen = new Set<number>()
  for (const at of byValue(body, valueOf)) {
    left -= (body[at]?.length ?? 0) + 1
    if (left < 0 && chosen.size > 0) break
    chosen.add(at)
  }
  const some = [...head, ...body.filter((_, at) => chosen.has(at))].join('\n')
  return before === '' ? some : `${before}${GAP}${some}`
}
