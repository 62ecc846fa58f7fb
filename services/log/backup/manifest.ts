import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { MARKET_KINDS } from '../../../contracts/events/event-catalogue.ts'
import { sha256 } from '../../../contracts/infra/field-schemas.ts'
import { keyFingerprint } from '../../runtime/secrets/seal.ts'

const position = z.int().nonnegative()

/** One file of events that were neighbours in the log; it never changes once it is named here. */
const segmentSchema = z.object({
  name: z.string().regex(/^log\/\d{12}-\d{12}-[0-9a-f]{16}\.zst$/),
  first: position,
  last: position,
  events: position,
  bytes: position,
  sha256,
  /** Hash of the log up to its end: of the hash before it and its own. */
  hash: sha256,
  /** The newest event of the log when it was cut off, and when that was appended. */
  lastId: z.uuid(),
  lastAt: z.iso.datetime(),
})

const manifestSchema = z.object({
  format: z.literal(3),
  /** Id of the first event of the log. */
  logId: z.uuid(),
  market: z.enum(MARKET_KINDS),
  /** Up to here, inclusive. */
  head: position,
  segments: z.array(segmentSchema),
  /** The keys of subjects as they were at last: replaced each time, so that what was erased is in no backup. */
  keys: z.array(z.object({ name: z.string().regex(/^keys\/[0-9a-f]{64}\.zst$/), events: position, sha256 })),
  takenAt: z.iso.datetime(),
})

export type Manifest = z.infer<typeof manifestSchema>

export const MANIFEST_NAME = 'backup.json'

/** Most bytes of a segment, packed and unpacked. */
export const SEGMENT_BYTES = 256 * 1_024 * 1_024

export const sha256Of = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

/** Hash of a log before its first event. */
export const hashBefore = (logId: string): string => sha256Of(`signal-service log ${logId}\n`)

/** The hash of a log up to the end of a segment: of the hash before it, and of the segment. */
export const chained = (before: string, segment: string): string => sha256Of(`${before}\n${segment}\n`)

export const hashOf = ({ logId, segments }: Pick<Manifest, 'logId' | 'segments'>): string =>
  segments.at(-1)?.hash ?? hashBefore(logId)

/** Compressed (Zstandard), with the hash and the length of its text. */
export function packSegment(text: string) {
  const bytes = Buffer.from(text)
  return { body: zstdCompressSync(bytes), sha256: sha256Of(bytes), bytes: bytes.length }
}

/** Inverse of {@link packSegment}. @throws ServiceError `backup_damaged` if it is not what the manifest says */
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

/** A file; with the position of its first event if it holds a stretch of the log: what lies before can still be restored. */
type BackupFile = { readonly name: string; readonly first?: number }

export function damaged({ name, first }: BackupFile, why: string, cause?: unknown): ServiceError {
  const whole = first === undefined ? '' : `; what is whole goes up to position ${first - 1}`
  return new ServiceError('backup_damaged', {
    message: `${name} of the backup is damaged: ${why}${whole}`,
    cause,
  })
}

const macOf = (key: Uint8Array, body: string): Buffer => createHmac('sha256', key).update(body).digest()

/**
 * A manifest as it is written. Its HMAC covers every file of the backup: the manifest holds the SHA-256 of each, and
 * nothing is read from a file before that was compared. @param key derived from the sealing key, or from the newest one
 * that replaced it
 */
export function signedText(manifest: Manifest, key: Uint8Array): string {
  const body = JSON.stringify(manifest)
  return `${JSON.stringify({ manifest, key: keyFingerprint(key), hmac: macOf(key, body).toString('hex') })}\n`
}

const writtenSchema = z.object({ manifest: z.unknown(), key: z.string(), hmac: sha256 })

/** Inverse of {@link signedText}. @throws ServiceError `backup_damaged`; `store_mismatch` for another key */
export function parseManifest(text: string, key: Uint8Array): Manifest {
  try {
    const written = writtenSchema.parse(JSON.parse(text))
    if (written.key !== keyFingerprint(key)) throw otherKey(written.key)
    const mac = macOf(key, JSON.stringify(written.manifest))
    if (!timingSafeEqual(mac, Buffer.from(written.hmac, 'hex')))
      throw new Error('its signature is wrong: it was changed by somebody who has not the sealing key')
    const manifest = manifestSchema.parse(written.manifest)
    requireWhole(manifest)
    return manifest
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw damaged({ name: MANIFEST_NAME }, reasonOf(error).slice(0, 500), error)
  }
}

const otherKey = (fingerprint: string): ServiceError =>
  new ServiceError('store_mismatch', {
    message: `the backup was signed with another key (fingerprint ${fingerprint.slice(0, 16)})`,
    nextStep:
      'To restore it, use the sealing.key and wrapping.keys of its day. After a key was replaced, begin a new backup at another address.',
  })

/** Segments follow one another without a gap, and each hash leads to the next. */
function requireWhole({ logId, segments, head }: Manifest): void {
  let [last, hash] = [0, hashBefore(logId)]
  for (const segment of segments) {
    if (segment.first !== last + 1 || segment.last < segment.first)
      throw new Error(`${segment.name} does not follow on position ${last}`)
    hash = chained(hash, segment.sha256)
    if (hash !== segment.hash) throw new Error(`${segment.name} has not the hash of the log`)
    last = segment.last
  }
  if (last !== head) throw new Error(`it ends at ${last}, and names ${head}`)
}
