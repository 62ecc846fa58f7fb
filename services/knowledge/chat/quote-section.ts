import { blockText } from '../corpus/block-text.ts'
import { introduces } from '../corpus/split-page.ts'
import type { Block } from '../markdown/parse-markdown.ts'

/** A piece of a section that is quoted whole: a paragraph, and what it introduces with a colon. */
type Piece = readonly Block[]

/**
 * Quotes a section, unchanged and in its order: the whole of it where there is room, and else the pieces that say most of
 * what was asked. A list or a table stays with the words that introduce it; of one that is too long for any answer
 * those lines are given that say most, a table's with its header.
 *
 * @param valueOf how much of what was asked a text says
 * @param room characters; a single paragraph may be longer
 */
export function quoteSection(
  blocks: readonly Block[],
  valueOf: (text: string) => number,
  room: number,
): string {
  const whole = textOf(blocks)
  if (whole.length <= room) return whole
  const pieces = piecesOf(blocks)
  const values = pieces.map((piece) => valueOf(textOf(piece)))
  const order = [...pieces.keys()].toSorted((a, b) => (values[b] ?? 0) - (values[a] ?? 0) || a - b)
  const taken = new Map<number, string>()
  let left = room
  for (const place of order) {
    const piece = pieces[place] ?? []
    const text = taken.size === 0 ? fitted(piece, valueOf, left) : textOf(piece)
    if (taken.size > 0 && text.length > left) continue
    taken.set(place, text)
    left -= text.length + GAP.length
  }
  return [...taken]
    .toSorted(([a], [b]) => a - b)
    .map(([, text]) => text)
    .join(GAP)
}

const GAP = '\n\n'

const textOf = (blocks: readonly Block[]): string => blocks.map(blockText).join(GAP)

function piecesOf(blocks: readonly Block[]): Piece[] {
  const pieces: Block[][] = []
  for (const [place, block] of blocks.entries()) {
    const last = pieces.at(-1)
    if (last !== undefined && introduces(blocks[place - 1])) last.push(block)
    else pieces.push([block])
  }
  return pieces
}

/** A piece with as many lines of its last block as there is room for, those that say most; other blocks have no lines. */
function fitted(piece: Piece, valueOf: (text: string) => number, room: number): string {
  const last = piece.at(-1)
  const text = textOf(piece)
  if (text.length <= room || last === undefined) return text
  if (last.kind === 'code') return textOf(piece.slice(0, -1)) || text
  if (last.kind !== 'list' && last.kind !== 'table') return text
  const before = textOf(piece.slice(0, -1))
  const lines = blockText(last).split('\n')
  const head = last.kind === 'table' ? lines.slice(0, 2) : []
  const body = lines.slice(head.length)
  const values = body.map(valueOf)
  let left = room - before.length - head.join('\n').length
  const chosen = new Set<number>()
  for (const place of [...body.keys()].toSorted((a, b) => (values[b] ?? 0) - (values[a] ?? 0) || a - b)) {
    left -= (body[place]?.length ?? 0) + 1
    if (left < 0 && chosen.size > 0) break
    chosen.add(place)
  }
  const some = [...head, ...body.filter((_, place) => chosen.has(place))].join('\n')
  return before === '' ? some : `${before}${GAP}${some}`
}
