import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { MARKET_KINDS } from '../../../contracts/event-catalogue.ts'
import { sha256 } from '../../../contracts/field-schemas.ts'
import { keyFingerprint } from '../../runtime/secrets/seal.ts'
import { chained, damaged, sha256Of } from './segment.ts'

const position = z.int().nonnegative()

/** One file of events that were neighbours in the log; it never changes once it is named here. */
const segmentSchema = z.object({
  name: z.string().regex(/^log\/\d{12}-\d{12}-[0-9a-f]{16}\.zst$/),
  /** Positions that it covers; those of keys are left out. */
  first: position,
  last: position,
  events: position,
  /** Length of its text. */
  bytes: position,
  sha256,
  /** Hash of the log up to its end: of the hash before it and its own. */
  hash: sha256,
  /** The newest event of the log when it was cut off, and when that was appended. */
  lastId: z.uuid(),
  lastAt: z.iso.datetime(),
})

const manifestSchema = z.object({
  format: z.literal(2),
  /** Id of the first event of the log. */
  logId: z.uuid(),
  market: z.enum(MARKET_KINDS),
  /** Up to here, inclusive. */
  head: position,
  segments: z.array(segmentSchema),
  /** The keys of subjects as they were at last: replaced each time, so that what was erased is in no backup. */
  keys: z
    .object({
      name: z.string().regex(/^keys\/[0-9a-f]{64}\.zst$/),
      events: position,
      upTo: position,
      sha256,
    })
    .nullable(),
  takenAt: z.iso.datetime(),
})

export type Manifest = z.infer<typeof manifestSchema>

export const MANIFEST_NAME = 'backup.json'

/** Hash of a log before its first event. */
export const hashBefore = (logId: string): string => sha256Of(`signal-service log ${logId}\n`)

export const hashOf = ({ logId, segments }: Pick<Manifest, 'logId' | 'segments'>): string =>
  segments.at(-1)?.hash ?? hashBefore(logId)

const macOf = (key: Uint8Array, body: string): Buffer => createHmac('sha256', key).update(body).digest()

/**
 * A manifest as it is written. Its HMAC covers every file of the backup: the manifest holds the SHA-256 of each, and nothing
 * is read from a file before that was compared.
 *
 * @param key derived from the sealing key, or from the newest one that replaced it
 */
export function signedText(manifest: Manifest, key: Uint8Array): string {
  const body = JSON.stringify(manifest)
  return `${JSON.stringify({ manifest, key: keyFingerprint(key), hmac: macOf(key, body).toString('hex') })}\n`
}

const writtenSchema = z.object({ manifest: z.unknown(), key: z.string(), hmac: sha256 })

/**
 * Inverse of {@link signedText}.
 *
 * @throws ServiceError `backup_damaged`; `store_mismatch` for another key
 */
export function parseManifest(text: string, key: Uint8Array): Manifest {
  const file = { name: MANIFEST_NAME }
  let written: z.infer<typeof writtenSchema>
  try {
    written = writtenSchema.parse(JSON.parse(text))
  } catch (error) {
    throw damaged(file, reasonOf(error).slice(0, 500), error)
  }
  if (written.key !== keyFingerprint(key)) throw otherKey(written.key)
  const body = JSON.stringify(written.manifest)
  if (!timingSafeEqual(macOf(key, body), Buffer.from(written.hmac, 'hex')))
    throw damaged(file, 'its signature is wrong: it was changed by somebody who has not the sealing key')
  const { data: manifest, error } = manifestSchema.safeParse(written.manifest)
  if (manifest === undefined) throw damaged(file, reasonOf(error).slice(0, 500), error)
  requireWhole(manifest)
  return manifest
}

const otherKey = (fingerprint: string): ServiceError =>
  new ServiceError('store_mismatch', {
    message: `the backup was signed with another key (fingerprint ${fingerprint.slice(0, 16)})`,
    nextStep:
      'To restore it, use the sealing.key and wrapping.keys of its day. After a key was replaced, begin a new backup at another address.',
  })

/** Segments follow one another without a gap, and each hash leads to the next. */
function requireWhole(manifest: Manifest): void {
  let [last, hash] = [0, hashBefore(manifest.logId)]
  for (const segment of manifest.segments) {
    if (segment.first !== last + 1 || segment.last < segment.first)
      throw damaged({ name: MANIFEST_NAME }, `${segment.name} does not follow on position ${last}`)
    hash = chained(hash, segment.sha256)
    if (hash !== segment.hash)
      throw damaged({ name: MANIFEST_NAME }, `${segment.name} has not the hash of the log`)
    last = segment.last
  }
  if (last !== manifest.head)
    throw damaged({ name: MANIFEST_NAME }, `it ends at ${last}, and names ${manifest.head}`)
}

/** @throws ServiceError `store_mismatch` where the backup is of another log */
export function requireSameLog(manifest: Pick<Manifest, 'logId'>, logId: string, place: string): void {
  if (manifest.logId === logId) return
  throw new ServiceError('store_mismatch', {
    message: `${place} holds the backup of another log (${manifest.logId}, and this one is ${logId})`,
    nextStep: 'Give each log an address of its own.',
  })
}
