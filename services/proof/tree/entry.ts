import { assert } from '../../../contracts/errors/assert.ts'
import type { EventType } from '../../../contracts/events/event-catalogue.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { canonicalJson, type Json, type JsonObject } from '../../../contracts/infra/json.ts'
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
 * The entry of a content, or of a recorded event. @param text that of the content, if it is known @throws TypeError for
 * an event that is no entry
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

/** Texts of one shape: the same keys in the same order, and lists of the same length. */
interface Shape {
  /** Matches such a text, with a group for each value that is no object and no list. */
  readonly pattern: RegExp
  /** The canonical form: texts, and numbers of groups between them. */
  readonly parts: readonly (string | number)[]
}

/** Shapes of a type that are known at a time; most types have one or two. */
const MOST_SHAPES = 16
const VALUE = '("(?:[^"\\\\]|\\\\.)*"|[-+.\\w]+)'
const SPECIAL = /[\\^$.*+?()[\]{}|]/g

const shapes = new Map<string, readonly Shape[]>()

/**
 * The `canonicalJson` of an event's data, from the text that `JSON.stringify` made of it. The order of the keys is found
 * once for each shape, and values are cut out of later texts: that takes a third of the time.
 */
export function canonicalText(type: string, text: string, data: () => JsonObject): string {
  const known = shapes.get(type) ?? []
  for (const { pattern, parts } of known) {
    const values = pattern.exec(text)
    if (values === null) continue
    let canonical = ''
    for (const part of parts) canonical += typeof part === 'string' ? part : values[part]
    return canonical
  }
  const value = data()
  shapes.set(type, [shapeOf(value), ...known].slice(0, MOST_SHAPES))
  return canonicalJson(value)
}

function shapeOf(data: JsonObject): Shape {
  let groups = 0
  /** The pattern of a value as it is written, and its canonical text with each group as `\0number\0`. */
  function shape(value: Json): readonly [pattern: string, canonical: string] {
    if (value === null || typeof value !== 'object') return [VALUE, `\0${++groups}\0`]
    const members = Object.entries(value).map(([key, member]) => {
      const [pattern, canonical] = shape(member)
      const name = Array.isArray(value) ? '' : `${JSON.stringify(key)}:`
      return { key, pattern: `${name.replaceAll(SPECIAL, '\\$&')}${pattern}`, canonical: name + canonical }
    })
    const pattern = members.map((member) => member.pattern).join(',')
    if (Array.isArray(value))
      return [`\\[${pattern}\\]`, `[${members.map((member) => member.canonical).join(',')}]`]
    const ordered = members.toSorted((a, b) => (a.key < b.key ? -1 : 1))
    return [`\\{${pattern}\\}`, `{${ordered.map((member) => member.canonical).join(',')}}`]
  }
  const [pattern, canonical] = shape(data)
  return {
    pattern: new RegExp(`^${pattern}$`),
    parts: canonical.split('\0').map((part, index) => (index % 2 === 0 ? part : Number(part))),
  }
}
