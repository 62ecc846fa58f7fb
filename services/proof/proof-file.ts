import { z } from 'zod'
import { type JsonObject, jsonFault } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { faultyError, openCheckpoint, type Verifier } from './note.ts'
import { type Content, ENTRY_TYPES, encodeEntry, entryOf } from './tree/entry.ts'
import { type Hash, leafHash, rootOfInclusion } from './tree/merkle.ts'

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
/** Extra data, index, at most 63 hashes, and the checkpoint after an empty line. */
const PROOF =
  /^c2sp\.org\/tlog-proof@v1\n(?:extra ([A-Za-z0-9+/]+={0,2})\n)?index (0|[1-9]\d{0,15})\n((?:[A-Za-z0-9+/]{43}=\n){0,63})\n([^]*)$/
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

function parseProof(text: string): ProofFile {
  if (text.length > MOST_PROOF_BYTES) throw faultyError('it is too long for a proof')
  const [found, extra = '', index, hashes = '', checkpoint = ''] = PROOF.exec(text) ?? []
  if (found === undefined) throw faultyError(`it is no proof file of the form ${FIRST_LINE}`)
  const path = hashes.split('\n').slice(0, -1)
  const decoded = path.map((hash) => Buffer.from(hash, 'base64'))
  return { index: Number(index), path: decoded, extra: Buffer.from(extra, 'base64'), checkpoint }
}

const contentSchema = z.object({
  id: z.string(),
  type: z.enum(ENTRY_TYPES),
  schema: z.int().positive(),
  data: z.custom<JsonObject>((data) => isObject(data) && jsonFault(data, LIMITS.jsonDepth) === undefined),
})

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Checks a proof file with nothing but keys: the event in it is the entry at its index, of a tree that they have
 * signed. @throws ServiceError `proof_invalid`
 */
export function checkProof(text: string, keys: readonly Verifier[]) {
  const { index, path, extra, checkpoint: note } = parseProof(text)
  const { checkpoint, signatures } = openCheckpoint(note, keys)
  const content = parseContent(extra.toString())
  const leaf = leafHash(encodeEntry(entryOf(content, extra.toString())))
  const root = rootOfInclusion({ index, size: checkpoint.size }, leaf, path)
  if (root === undefined || !root.equals(checkpoint.root))
    throw faultyError(`the event is not entry ${index} of the tree of ${checkpoint.size}`)
  return { content, origin: checkpoint.origin, index, size: checkpoint.size, signatures }
}

/** @throws ServiceError `proof_invalid` for text that is no event of the log */
export function parseContent(text: string): Content {
  try {
    return contentSchema.parse(JSON.parse(text))
  } catch {
    throw faultyError('its content is no event of the log')
  }
}
