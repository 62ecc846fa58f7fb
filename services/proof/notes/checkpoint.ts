import { ServiceError } from '../../../contracts/errors.ts'
import type { TreeHead } from '../tree/merkle.ts'
import type { Signer, Verifier } from './note-keys.ts'

/** The root of a log at a size. */
export interface Checkpoint extends TreeHead {
  readonly origin: string
}

/** The key that signed. */
export interface Signature {
  readonly verifier: Verifier
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

/** A checkpoint with the signatures of all keys. */
export const signCheckpoint = (checkpoint: Checkpoint, keys: readonly Signer[]): string =>
  `${checkpointText(checkpoint)}\n${keys.map((key) => signatureLine(checkpoint, key)).join('')}`

/** Signs a checkpoint with one key, as a line of a note. */
export function signatureLine(checkpoint: Checkpoint, key: Signer): string {
  const signature = key.sign(Buffer.from(checkpointText(checkpoint)))
  return `— ${key.name} ${Buffer.concat([key.id, signature]).toString('base64')}\n`
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
    const isSound = verifier.verify(Buffer.from(text), signature)
    if (!isSound) throw faultyError(`the signature of ${name} (${id.toString('hex')}) does not fit it`)
    return [{ verifier }]
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

export const faultyError = (why: string): ServiceError =>
  new ServiceError('proof_invalid', { message: `This cannot be relied on: ${why}.` })
