import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { TreeHead } from '../tree/merkle.ts'
import {
  hasSignatureLength,
  SIGNATURE_TYPES,
  type SignatureType,
  type Signer,
  type Verifier,
} from './note-keys.ts'

/** The root of a log at a size. */
export interface Checkpoint extends TreeHead {
  readonly origin: string
}

/** The key that signed, and the time in Unix seconds for the types that state one. */
export interface Signature {
  readonly verifier: Verifier
  readonly time: number | undefined
}

/** The parts of a note, not checked yet. */
interface Note {
  /** With its last line break. */
  readonly text: string
  readonly lines: readonly { readonly name: string; readonly id: Buffer; readonly signature: Buffer }[]
}

const LINE = /^— (\S+) ([A-Za-z0-9+/]+={0,2})$/
const MOST_LINES = 64
const MOST_BYTES = 200_000

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`

/**
 * A checkpoint with the signatures of all keys.
 *
 * @param time Unix seconds, for the types that say when
 */
export const signCheckpoint = (checkpoint: Checkpoint, keys: readonly Signer[], time: number): string =>
  `${checkpointText(checkpoint)}\n${keys.map((key) => signatureLine(checkpoint, key, time)).join('')}`

/** Signs a checkpoint with one key, as a line of a note. */
export function signatureLine(checkpoint: Checkpoint, key: Signer, time: number): string {
  const signature = key.sign(signedText(checkpoint, checkpointText(checkpoint), key, time))
  const isLong = hasSignatureLength(key.type, signature.length + (isTimed(key.type) ? 8 : 0))
  assert(isLong, 'a signature has the length of its type', signature.length)
  const parts = [key.id, ...(isTimed(key.type) ? [u64(time)] : []), signature]
  return `— ${key.name} ${Buffer.concat(parts).toString('base64')}\n`
}

/**
 * Reads a checkpoint and checks the signatures of known keys; signatures of other keys are ignored.
 *
 * @throws ServiceError `proof_invalid` for text that is no note, for a wrong signature of a known key, and for a note that no
 *   known key has signed
 */
export function openCheckpoint(
  note: string,
  known: readonly Verifier[],
): { readonly checkpoint: Checkpoint; readonly signatures: readonly Signature[] } {
  const { text, lines } = parseNote(note)
  const checkpoint = parseCheckpoint(text)
  const signatures = lines.flatMap(({ name, id, signature }): Signature[] => {
    const verifier = known.find((one) => one.name === name && one.id.equals(id))
    if (verifier === undefined) return []
    const time = isTimed(verifier.type) ? readTime(signature) : undefined
    const bytes = time === undefined ? signature : signature.subarray(8)
    const isSound =
      hasSignatureLength(verifier.type, signature.length) &&
      verifier.verify(signedText(checkpoint, text, verifier, time ?? 0), bytes)
    if (!isSound) throw faultyError(`the signature of ${name} (${id.toString('hex')}) does not fit it`)
    return [{ verifier, time }]
  })
  if (signatures.length === 0) throw faultyError('none of the known keys has signed it')
  return { checkpoint, signatures }
}

/** @throws ServiceError `proof_invalid` */
function parseNote(note: string): Note {
  const end = note.lastIndexOf('\n\n')
  if (note.length > MOST_BYTES || end < 0 || !note.endsWith('\n')) throw faultyError('it is no signed note')
  const rows = note.slice(end + 2, -1).split('\n')
  if (rows.length > MOST_LINES) throw faultyError(`it has ${rows.length} signatures; ${MOST_LINES} are read`)
  const lines = rows.map((row) => {
    const [, name, base64] = LINE.exec(row) ?? []
    const bytes = Buffer.from(base64 ?? '', 'base64')
    if (name === undefined || bytes.length < 5) throw faultyError('a signature of it is none')
    return { name, id: bytes.subarray(0, 4), signature: bytes.subarray(4) }
  })
  return { text: note.slice(0, end + 1), lines }
}

/** @throws ServiceError `proof_invalid` */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', size = '', root = ''] = text.split('\n')
  const hash = Buffer.from(root, 'base64')
  const isSound =
    origin !== '' &&
    /^(?:0|[1-9]\d{0,15})$/.test(size) &&
    hash.length === 32 &&
    hash.toString('base64') === root
  if (!isSound || !Number.isSafeInteger(Number(size)))
    throw faultyError('it is no checkpoint: origin, size and root are its first three lines')
  return { origin, size: Number(size), root: hash }
}

/** The bytes to sign, by the type of the key: the text itself, or a statement about the tree at a time. */
function signedText({ origin, size, root }: Checkpoint, text: string, key: Verifier, time: number): Buffer {
  if (key.type === SIGNATURE_TYPES.ed25519) return Buffer.from(text)
  return Buffer.concat([
    Buffer.from('subtree/v1\n\0'),
    prefixed(key.name),
    u64(time),
    prefixed(origin),
    u64(0),
    u64(size),
    root,
  ])
}

const isTimed = (type: SignatureType): boolean => type !== SIGNATURE_TYPES.ed25519

function prefixed(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.of(Math.min(bytes.length, 255)), bytes])
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

const readTime = (signature: Buffer): number =>
  signature.length < 8 ? 0 : Number(signature.readBigUInt64BE() & 0x1fffffffffffffn)

export const faultyError = (why: string): ServiceError =>
  new ServiceError('proof_invalid', { message: `This cannot be relied on: ${why}.` })
