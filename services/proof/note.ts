import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { Hash } from './tree/merkle.ts'

/** The type of Ed25519 in C2SP signed-note, in front of a public key. */
const ED25519 = 0x01
/** In front of the seed, and of the public key: DER of PKCS #8 and of SPKI. */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
const PUBLIC_BYTES = 32
const ID_BYTES = 4
const MOST_SIGNATURES = 64
const MOST_CHARACTERS = 200_000
const SIGNATURE = /^— (\S+) ([A-Za-z0-9+/]+={0,2})$/

export const SEED_BYTES = 32

/** A key that notes are checked with. */
export interface Verifier {
  readonly name: string
  /** Four bytes: with the name they say who signed. */
  readonly id: Buffer
  /** The text of the key for others, in the format of signed-note. */
  readonly vkey: string
  /** Whether the key signed exactly these bytes. */
  verify(text: Uint8Array, signature: Uint8Array): boolean
}

/** A key that notes are signed with. */
export interface Signer extends Verifier {
  sign(text: Uint8Array): Buffer
}

/** The root of a log at a size. */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Hash
}

function verifierOf(name: string, raw: Buffer, key: KeyObject): Verifier {
  const typed = Buffer.concat([Buffer.of(ED25519), raw])
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'buffer').subarray(0, ID_BYTES)
  const vkey = `${name}+${id.toString('hex')}+${typed.toString('base64')}`
  return { name, id, vkey, verify: (text, signature) => verify(null, text, key, signature) }
}

/** Reads a verifier key; undefined for text that is none, with an id of another key, or of another type. */
export function parseVkey(text: string): Verifier | undefined {
  const [, name, base64 = ''] = /^([^+\s]+)\+[0-9a-f]{8}\+([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  const bytes = Buffer.from(base64, 'base64')
  const raw = bytes.subarray(1)
  if (name === undefined || bytes[0] !== ED25519 || raw.length !== PUBLIC_BYTES) return undefined
  const key = createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, raw]), format: 'der', type: 'spki' })
  const verifier = verifierOf(name, raw, key)
  // A key has one text: base64 that ends otherwise, or another id, is none of it.
  return verifier.vkey === text ? verifier : undefined
}

/** @param seed 32 bytes: the secret that signs */
export function signerOf(name: string, seed: Uint8Array): Signer {
  const key = createPrivateKey({ key: Buffer.concat([PRIVATE_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(key)
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-PUBLIC_BYTES)
  return { ...verifierOf(name, raw, publicKey), sign: (text) => sign(null, text, key) }
}

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`

/** A checkpoint with the signatures of all keys. */
export function signCheckpoint(checkpoint: Checkpoint, keys: readonly Signer[]): string {
  const text = checkpointText(checkpoint)
  const lines = keys.map((key) => {
    const signature = Buffer.concat([key.id, key.sign(Buffer.from(text))])
    return `— ${key.name} ${signature.toString('base64')}\n`
  })
  return `${text}\n${lines.join('')}`
}

/**
 * Reads a checkpoint and answers which of the known keys signed it, by name and id; signatures of other keys are ignored.
 *
 * @throws ServiceError `proof_invalid` for text that is no note, a wrong signature of a known key, and a note that no known
 *   key has signed
 */
export function openCheckpoint(note: string, known: readonly Verifier[]) {
  const end = note.lastIndexOf('\n\n')
  if (note.length > MOST_CHARACTERS || end < 0 || !note.endsWith('\n'))
    throw faultyError('it is no signed note')
  const text = note.slice(0, end + 1)
  const checkpoint = parseCheckpoint(text)
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > MOST_SIGNATURES)
    throw faultyError(`it has ${lines.length} signatures; ${MOST_SIGNATURES} are read`)
  const signatures = lines.flatMap((line): string[] => {
    const [, name, base64 = ''] = SIGNATURE.exec(line) ?? []
    const bytes = Buffer.from(base64, 'base64')
    if (name === undefined || bytes.length <= ID_BYTES) throw faultyError('a line of it is no signature')
    const id = bytes.subarray(0, ID_BYTES)
    const verifier = known.find((one) => one.name === name && one.id.equals(id))
    if (verifier === undefined) return []
    if (!verifier.verify(Buffer.from(text), bytes.subarray(ID_BYTES)))
      throw faultyError(`the signature of ${name} (${id.toString('hex')}) does not fit it`)
    return [`${name}+${id.toString('hex')}`]
  })
  if (signatures.length === 0) throw faultyError('none of the known keys has signed it')
  return { checkpoint, signatures }
}

/** @throws ServiceError `proof_invalid` */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', digits = '', base64 = ''] = text.split('\n')
  const [size, root] = [Number(digits), Buffer.from(base64, 'base64')]
  const isSize = /^(?:0|[1-9]\d{0,15})$/.test(digits) && Number.isSafeInteger(size)
  if (origin === '' || !isSize || root.length !== 32 || root.toString('base64') !== base64)
    throw faultyError('it is no checkpoint: origin, size and root are its first three lines')
  return { origin, size, root }
}

export const faultyError = (why: string): ServiceError =>
  new ServiceError('proof_invalid', { message: `This cannot be relied on: ${why}.` })
