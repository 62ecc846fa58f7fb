import { jsonFault } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { faultyError, openCheckpoint, type Signature, type Verifier } from './note.ts'
import { type Content, encodeEntry, entryOf } from './tree/entry.ts'
import { HASH_BYTES, type Hash, leafHash, rootOfInclusion } from './tree/merkle.ts'

/** A proof that stands by itself, as C2SP tlog-proof writes it. */
export interface ProofFile {
  readonly index: number
  readonly path: readonly Hash[]
  /** The text that the entry commits to. */
  readonly extra: Buffer
  /** With its signatures. */
  readonly checkpoint: string
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
const MOST_HASHES = 63
/** A longer file is no proof: events have a limit, too. */
export const MOST_PROOF_BYTES = 4_000_000

export const formatProof = ({ index, path, extra, checkpoint }: ProofFile): string =>
  [
    FIRST_LINE,
    `extra ${extra.toString('base64')}`,
    `index ${index}`,
    ...path.map((hash) => hash.toString('base64')),
    '',
    checkpoint,
  ].join('\n')

/** @throws ServiceError `proof_invalid` */
export function parseProof(text: string): ProofFile {
  if (text.length > MOST_PROOF_BYTES) throw faultyError('it is too long for a proof')
  const end = text.indexOf('\n\n')
  const [first, ...rest] = text.slice(0, Math.max(0, end)).split('\n')
  if (end < 0 || first !== FIRST_LINE)
    throw faultyError(`it is no proof file: those begin with ${FIRST_LINE}`)
  const extra = /^extra ([A-Za-z0-9+/]+={0,2})$/.exec(rest[0] ?? '')?.[1]
  const [place, ...hashes] = extra === undefined ? rest : rest.slice(1)
  const index = /^index (0|[1-9]\d{0,15})$/.exec(place ?? '')?.[1]
  if (index === undefined) throw faultyError('it names no index')
  if (hashes.length > MOST_HASHES) throw faultyError(`it has ${hashes.length} hashes; no tree is so deep`)
  const path = hashes.map((hash) => Buffer.from(hash, 'base64'))
  if (path.some((hash, at) => hash.length !== HASH_BYTES || hash.toString('base64') !== hashes[at]))
    throw faultyError('a hash of it is none')
  const content = Buffer.from(extra ?? '', 'base64')
  return { index: Number(index), path, extra: content, checkpoint: text.slice(end + 2) }
}

/** An audit reads millions of contents, which a schema would take three times as long for. */
const isContent = ({ id, type, schema, data }: Record<keyof Content, unknown>): boolean =>
  typeof id === 'string' &&
  typeof type === 'string' &&
  Number.isSafeInteger(schema) &&
  Number(schema) > 0 &&
  typeof data === 'object' &&
  data !== null &&
  !Array.isArray(data) &&
  jsonFault(data, LIMITS.jsonDepth) === undefined

/** The event that a proof shows, and its place in the log. */
export interface Proven {
  readonly content: Content
  readonly origin: string
  readonly index: number
  readonly size: number
  readonly signatures: readonly Signature[]
}

/**
 * Checks a proof file with nothing but keys: the event in it is the entry at its index, of a tree that they have signed.
 *
 * @throws ServiceError `proof_invalid`
 */
export function checkProof(text: string, keys: readonly Verifier[]): Proven {
  const { index, path, extra, checkpoint: note } = parseProof(text)
  const { checkpoint, signatures } = openCheckpoint(note, keys)
  const content = parseContent(extra.toString())
  const leaf = leafHash(encodeEntry(entryOf(content, extra.toString())))
  const root = rootOfInclusion({ index, size: checkpoint.size }, leaf, path)
  if (root === undefined || !root.equals(checkpoint.root))
    throw faultyError(`the event is not entry ${index} of the tree of ${checkpoint.size}`)
  return { content, origin: checkpoint.origin, index, size: checkpoint.size, signatures }
}

/** @throws ServiceError `proof_invalid` */
export function parseContent(text: string): Content {
  try {
    const { id, type, schema, data } = JSON.parse(text) as Content
    const content = { id, type, schema, data }
    if (isContent(content)) return content
  } catch {
    // It is no JSON, or none of an object.
  }
  throw faultyError('its content is no event')
}
