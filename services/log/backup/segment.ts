import { createHash } from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'

/** Most bytes of a segment, packed and unpacked. */
export const SEGMENT_BYTES = 256 * 1_024 * 1_024

export interface PackedSegment {
  readonly body: Buffer
  /** SHA-256 of the text, in hex. */
  readonly sha256: string
  /** Bytes of the text. */
  readonly bytes: number
}

export const sha256Of = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

/** Compressed (Zstandard). */
export function packSegment(text: string): PackedSegment {
  const bytes = Buffer.from(text)
  return { body: zstdCompressSync(bytes), sha256: sha256Of(bytes), bytes: bytes.length }
}

/** Inverse of {@link packSegment}. @throws ServiceError `backup_damaged` where it is not what the manifest says */
export function unpackSegment(body: Uint8Array, file: BackupFile & { readonly sha256: string }): string {
  let bytes: Buffer
  try {
    bytes = zstdDecompressSync(body, { maxOutputLength: SEGMENT_BYTES })
  } catch (error) {
    throw damaged(file, `it cannot be unpacked: ${reasonOf(error)}`, error)
  }
  const found = sha256Of(bytes)
  if (found !== file.sha256) throw damaged(file, `its SHA-256 is ${found}, and was ${file.sha256}`)
  return bytes.toString('utf8')
}

interface BackupFile {
  readonly name: string
  /** Position of the first event, of a file that holds a stretch of the log: what lies before it can still be restored. */
  readonly first?: number
}

export function damaged({ name, first }: BackupFile, why: string, cause?: unknown): ServiceError {
  const whole = first === undefined ? '' : `; what is whole goes up to position ${first - 1}`
  return new ServiceError('backup_damaged', {
    message: `${name} of the backup is damaged: ${why}${whole}`,
    cause,
  })
}

/** The hash of a log up to the end of a segment: of the hash before it, and of the segment. */
export const chained = (before: string, sha256: string): string => sha256Of(`${before}\n${sha256}\n`)

export const anotherWasFirst = (place: string): ServiceError =>
  new ServiceError('store_locked', {
    message: `another backup to ${place} was first: it changed backup.json while this one ran`,
    nextStep: 'Run the command again: it goes on where the other one ended.',
  })
