import { assert } from '../../../contracts/errors/assert.ts'
import type { EventType } from '../../../contracts/events/event-catalogue.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { canonicalJson } from '../../../contracts/infra/json.ts'
import { canonicalText } from './canonical-text.ts'
import { HASH_BYTES, sha256 } from './merkle.ts'

/**
 * The events that are entries of the tree, with the byte of each kind. None is personal. A type is never removed, and only a
 * type that no log holds yet is added: otherwise the root of a tree would change with the release.
 */
export const ENTRY_KINDS = {
  LogBegun: 0,
  VerdictRecorded: 1,
  OutcomeLabelled: 2,
  ModelAnnounced: 4,
  MonitoringChanged: 5,
  LogKeysPublished: 7,
  DaySealed: 8,
} as const satisfies Partial<Record<EventType, number>>

export const ENTRY_TYPES = Object.keys(ENTRY_KINDS) as (keyof typeof ENTRY_KINDS)[]

/** The parts of an event that the log commits to: all but its place and time. */
export type Content = Pick<NewEvent, 'id' | 'type' | 'schema' | 'data'>

/** A content as the text that its hash is taken of: JSON with its keys in order. @param text of its data, if it is known */
export function contentText({ id, type, schema, data, text }: Content & { readonly text?: string }): string {
  const ordered = text === undefined ? canonicalJson(data) : canonicalText(type, text, () => data)
  return `{"data":${ordered},"id":${JSON.stringify(id)},"schema":${schema},"type":${JSON.stringify(type)}}`
}

/** One entry of the tree: a commitment that reveals only the kind of its content and when it is shown. */
export interface Entry {
  readonly kind: number
  /** Market time from which the content is shown, Unix milliseconds; 0 for a content that is always shown. */
  readonly opensAt: number
  /** SHA-256 of the content's text. */
  readonly hash: Buffer
}

/** Divisible by three, so that entries in base64 can be concatenated. */
export const ENTRY_BYTES = 42
const VERSION = 1

/** Market time from which a content is shown: a verdict when its window has closed, since callers pay for it until then. */
export const opensAt = ({ type, data }: Pick<Content, 'type' | 'data'>): number =>
  type === 'VerdictRecorded' && typeof data.validUntil === 'number' ? data.validUntil : 0

/**
 * The entry of a content, or of a recorded event.
 *
 * @param text that of the content, if it is known
 * @throws TypeError for an event that is no entry
 */
export function entryOf(content: Content & { readonly text?: string }, text?: string): Entry {
  const kind = (ENTRY_KINDS as Readonly<Record<string, number>>)[content.type]
  if (kind === undefined) throw new TypeError(`${content.type} is no entry of the log`)
  return { kind, opensAt: opensAt(content), hash: sha256(text ?? contentText(content)) }
}

/** Version, kind, time in big-endian order, hash. */
export function encodeEntry({ kind, opensAt: time, hash: content }: Entry): Buffer {
  assert(content.length === HASH_BYTES, 'an entry commits to a hash of 32 bytes', content.length)
  const bytes = Buffer.allocUnsafe(ENTRY_BYTES)
  bytes[0] = VERSION
  bytes[1] = kind
  bytes.writeUInt32BE(Math.floor(time / 2 ** 32), 2)
  bytes.writeUInt32BE(time % 2 ** 32, 6)
  bytes.set(content, ENTRY_BYTES - HASH_BYTES)
  return bytes
}

/** Undefined for bytes that are no entry. */
export function decodeEntry(bytes: Buffer): Entry | undefined {
  if (bytes.length !== ENTRY_BYTES || bytes[0] !== VERSION) return undefined
  return {
    kind: bytes[1] ?? 0,
    opensAt: bytes.readUInt32BE(2) * 2 ** 32 + bytes.readUInt32BE(6),
    hash: bytes.subarray(ENTRY_BYTES - HASH_BYTES),
  }
}
