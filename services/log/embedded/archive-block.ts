import { createHash } from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type StoredRow, textOf } from './stored-row.ts'

/** A block of neighbouring events in a file of the archive. */
export interface ArchiveBlock {
  /** Positions of its first and its last event. */
  readonly first: number
  readonly last: number
  /** Offset of its compressed bytes. */
  readonly start: number
  readonly bytes: number
  readonly sha256: string
}

/** Text of a block, at most, but for one that is a single event: what a look at one event unpacks. */
export const BLOCK_BYTES = 64 * 1_024
const MOST_BYTES = 64 * 1_024 * 1_024

/** JSON does not begin so, nor does what was erased; a tab keeps it out of any copy that is made of lines. */
const MARK = 'archived\t'

const sha256 = (bytes: string | Uint8Array, encoding: 'hex' | 'base64url'): string =>
  createHash('sha256').update(bytes).digest(encoding)

/** The mark that replaces an event's data in the log. It identifies a repeated append of the same event. */
export const archivedMark = (data: string): string => MARK + sha256(data, 'base64url')

export const isArchivedData = (data: string): boolean => data.startsWith(MARK)

/** Cuts rows into blocks, in their order. */
export function* blocksOf(rows: Iterable<StoredRow>, blockBytes: number): Generator<readonly StoredRow[]> {
  let block: StoredRow[] = []
  let bytes = 0
  for (const row of rows) {
    const size = Buffer.byteLength(textOf([row]))
    if (block.length > 0 && bytes + size > blockBytes) {
      yield block
      block = []
      bytes = 0
    }
    block.push(row)
    bytes += size
  }
  if (block.length > 0) yield block
}

/** Compresses rows with Zstandard and answers the hash of the result. Every tool unpacks a file of blocks that follow one another. */
export function packBlock(rows: readonly StoredRow[]): { readonly body: Buffer; readonly sha256: string } {
  const body = zstdCompressSync(Buffer.from(textOf(rows)))
  return { body, sha256: sha256(body, 'hex') }
}

/** Inverse of {@link packBlock}: its lines, by their positions. @throws TypeError where it is not what was written */
export function unpackBlock(body: Uint8Array, expected: string): ReadonlyMap<number, Buffer> {
  const found = sha256(body, 'hex')
  if (found !== expected) throw new TypeError(`its SHA-256 is ${found}, and was ${expected}`)
  const text = zstdDecompressSync(body, { maxOutputLength: MOST_BYTES })
  const lines = new Map<number, Buffer>()
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start)
    const tab = text.indexOf('\t', start)
    lines.set(Number(text.toString('latin1', start, tab)), text.subarray(start, end + 1))
    start = end + 1
  }
  return lines
}
