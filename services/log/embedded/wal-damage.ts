import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Layout of SQLite's write-ahead log: https://sqlite.org/fileformat2.html#the_write_ahead_log */
const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** The lowest bit says whether checksums are taken over words with their highest byte first. */
const MAGIC = 0x377f0682

interface Sum {
  readonly a: number
  readonly b: number
}

interface Frame {
  readonly sum: Sum
  /** Whether a transaction ends with it. */
  readonly commits: boolean
}

/**
 * Finds damage in a write-ahead log before SQLite takes the first wrong checksum for its end. A crash damages the newest
 * transaction only, since each commit waits for the disk before the next writes: a valid frame after a commit after the
 * first wrong one proves that durable bytes changed. @returns what is damaged; undefined where nothing is
 */
export function walDamage(file: string): string | undefined {
  const handle = openIfThere(file)
  if (handle === undefined) return undefined
  try {
    return damageIn(handle)
  } finally {
    closeSync(handle)
  }
}

function damageIn(handle: number): string | undefined {
  const { size } = fstatSync(handle)
  if (size <= HEADER_BYTES + FRAME_HEADER_BYTES) return undefined
  const header = read(handle, HEADER_BYTES, 0)
  const pageBytes = header.getUint32(8)
  const isLittle = header.getUint32(0) === MAGIC
  let newest: Frame = { sum: sumAt(header, 24), commits: false }
  // The header is on the disk before the first frame is written.
  const isHeader = isLittle || header.getUint32(0) === MAGIC + 1
  if (!isHeader || !isSame(newest.sum, added({ a: 0, b: 0 }, header, [0, 24], isLittle)))
    return 'its header is not what was written'
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  const frames = Math.floor((size - HEADER_BYTES) / frameBytes)
  let wrong: number | undefined
  for (let number = 1; number <= frames; number++) {
    const view = read(handle, frameBytes, HEADER_BYTES + (number - 1) * frameBytes)
    const frame: Frame = { sum: sumAt(view, 16), commits: view.getUint32(4) !== 0 }
    const isOfThisLog = isSame(sumAt(view, 8), sumAt(header, 16))
    const head = added(newest.sum, view, [0, 8], isLittle)
    const goesOn = isOfThisLog && isSame(frame.sum, added(head, view, [24, frameBytes], isLittle))
    if (wrong !== undefined && goesOn && newest.commits)
      return `frame ${wrong} of ${frames} is not what was written, and what was committed after it would be dropped`
    if (!goesOn) wrong ??= number
    newest = frame
  }
  return undefined
}

const sumAt = (view: DataView, at: number): Sum => ({ a: view.getUint32(at), b: view.getUint32(at + 4) })
const isSame = (one: Sum, other: Sum): boolean => one.a === other.a && one.b === other.b

/** A checksum, taken on over bytes. */
function added({ a, b }: Sum, view: DataView, [from, to]: readonly [number, number], isLittle: boolean): Sum {
  for (let at = from; at < to; at += 8) {
    a = (a + view.getUint32(at, isLittle) + b) >>> 0
    b = (b + view.getUint32(at + 4, isLittle) + a) >>> 0
  }
  return { a, b }
}

function read(handle: number, bytes: number, position: number): DataView {
  const buffer = Buffer.alloc(bytes)
  for (let got = 0; got < bytes; ) {
    const more = readSync(handle, buffer, got, bytes - got, position + got)
    if (more === 0) break
    got += more
  }
  return new DataView(buffer.buffer, buffer.byteOffset, bytes)
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
