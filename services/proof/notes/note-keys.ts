import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'

/** The type of Ed25519 in C2SP signed-note, in front of a public key. */
const ED25519 = 0x01
/** In front of the seed, and of the public key: DER of PKCS #8 and of SPKI. */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
const PUBLIC_BYTES = 32

export const SEED_BYTES = 32

/** A key that notes are checked with. */
export interface Verifier {
  readonly name: string
  /** Four bytes, which say with the name who signed. */
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

const keyId = (name: string, key: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(ED25519), key]), 'buffer').subarray(0, 4)

function verifierOf(name: string, raw: Buffer, key: KeyObject): Verifier {
  const id = keyId(name, raw)
  const vkey = `${name}+${id.toString('hex')}+${Buffer.concat([Buffer.of(ED25519), raw]).toString('base64')}`
  return { name, id, vkey, verify: (text, signature) => verify(null, text, key, signature) }
}

/** Reads a verifier key; undefined for text that is none, whose id is not its own, or of another type. */
export function parseVkey(text: string): Verifier | undefined {
  const [, name, , base64] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  if (name === undefined || base64 === undefined) return undefined
  const bytes = Buffer.from(base64, 'base64')
  const raw = bytes.subarray(1)
  if (bytes[0] !== ED25519 || raw.length !== PUBLIC_BYTES) return undefined
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
