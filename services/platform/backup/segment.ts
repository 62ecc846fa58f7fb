import { createHash } from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'

/** Text of a segment, at most: what one is read back into. */
const MOST_BYTES = 256 * 1_024 * 1_024

export interface PackedSegment {
  readonly body: Buffer
  /** SHA-256 of the text, in hex. */
  readonly sha256: string
  /** Of the text. */
  readonly bytes: number
}

export const sha256Of = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

/** Compressed (Zstandard). */
export function packSegment(text: string): PackedSegment {
  const bytes = Buffer.from(text)
  return { body: zstdCompressSync(bytes), sha256: sha256Of(bytes), bytes: bytes.length }
}

/**
 * Inverse of {@link packSegment}.
 *
 * @throws ServiceError `backup_damaged` where it is not what the manifest says
 */
export function unpackSegment(
  body: Uint8Array,
  { name, sha256 }: { readonly name: string; readonly sha256: string },
): string {
  let bytes: Buffer
  try {
    bytes = zstdDecompressSync(body, { maxOutputLength: MOST_BYTES })
  } catch (error) {
    throw damaged(name, `it cannot be unpacked: ${reasonOf(error)}`, error)
  }
  const found = sha256Of(bytes)
  if (found !== sha256) throw damaged(name, `its SHA-256 is ${found}, and was ${sha256}`)
  return bytes.toString('utf8')
}

export const damaged = (name: string, why: string, cause?: unknown): ServiceError =>
  new ServiceError('backup_damaged', { message: `${name} of the backup is damaged: ${why}`, cause })

/** The hash of a log up to the end of a segment: of the hash before it, and of the segment. */
export const chained = (before: string, sha256: string): string => sha256Of(`${before}\n${sha256}\n`)
