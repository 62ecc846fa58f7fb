import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { MARKET_KINDS } from '../../../contracts/event-catalogue.ts'
import { sha256 } from '../../../contracts/field-schemas.ts'
import { chained, damaged, sha256Of } from './segment.ts'
import {
  type Authenticity,
  type BackupKeys,
  checkSignature,
  signatureOf,
  signatureSchema,
} from './signature.ts'

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

export const manifestSchema = z.object({
  format: z.literal(1),
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

/** A manifest, and what is known of its writer. */
export interface ReadManifest {
  readonly manifest: Manifest
  readonly authenticity: Authenticity
}

/**
 * With the hash of itself, and signed. The signature covers every file of the backup: the manifest holds the SHA-256 of each,
 * and nothing is read from a file before that was compared.
 */
export function signedText(manifest: object, keys: BackupKeys): string {
  const body = JSON.stringify(manifest)
  return `${JSON.stringify({ sha256: sha256Of(body), manifest, signature: signatureOf(body, keys) })}\n`
}

/** Former releases signed nothing. */
const writtenSchema = z.object({ sha256, manifest: z.unknown(), signature: signatureSchema.optional() })

/**
 * Inverse of {@link signedText}; `keys` are undefined where they are not at hand. @throws ServiceError
 * `backup_damaged`; `store_mismatch` for another key
 */
export function parseSigned<Body>(
  text: string,
  { name, schema, keys }: { name: string; schema: z.ZodType<Body>; keys: BackupKeys | undefined },
): { readonly manifest: Body; readonly authenticity: Authenticity } {
  let written: z.infer<typeof writtenSchema>
  let manifest: Body
  try {
    written = writtenSchema.parse(JSON.parse(text))
    if (sha256Of(JSON.stringify(written.manifest)) !== written.sha256)
      throw new TypeError('its SHA-256 is another one')
    manifest = schema.parse(written.manifest)
  } catch (error) {
    throw damaged({ name }, reasonOf(error).slice(0, 500), error)
  }
  const authenticity = checkSignature(name, JSON.stringify(written.manifest), written.signature, keys)
  return { manifest, authenticity }
}

/** The manifest of a backup. @throws as {@link parseSigned} does */
export function parseManifest(text: string, keys: BackupKeys | undefined): ReadManifest {
  const read = parseSigned(text, { name: MANIFEST_NAME, schema: manifestSchema, keys })
  requireWhole(read.manifest)
  return read
}

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
