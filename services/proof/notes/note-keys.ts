import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'

/** Signature types of C2SP signed-note that are used here. */
export const SIGNATURE_TYPES = { ed25519: 0x01, mlDsa44: 0x06 } as const
export type SignatureType = (typeof SIGNATURE_TYPES)[keyof typeof SIGNATURE_TYPES]

interface Scheme {
  readonly name: 'ed25519' | 'ml-dsa-44'
  /** In front of the 32 bytes of the seed, and of the public key: DER of PKCS #8 and of SPKI. */
  readonly privatePrefix: string
  readonly publicPrefix: string
  readonly publicBytes: number
  readonly signatureBytes: number
}

const ED25519: Scheme = {
  name: 'ed25519',
  privatePrefix: '302e020100300506032b657004220420',
  publicPrefix: '302a300506032b6570032100',
  publicBytes: 32,
  signatureBytes: 64,
}

const ML_DSA_44: Scheme = {
  name: 'ml-dsa-44',
  privatePrefix: '3034020100300b060960864801650304031104228020',
  publicPrefix: '30820532300b06096086480165030403110382052100',
  publicBytes: 1_312,
  signatureBytes: 2_420,
}

export const SEED_BYTES = 32

/** Undefined for a type that is not read here. */
function schemeOf(type: number | undefined): Scheme | undefined {
  if (type === SIGNATURE_TYPES.ed25519) return ED25519
  return type === SIGNATURE_TYPES.mlDsa44 ? ML_DSA_44 : undefined
}

/** A key that notes are checked with. */
export interface Verifier {
  readonly name: string
  /** Four bytes, which say with the name who signed. */
  readonly id: Buffer
  readonly type: SignatureType
  /** The text of the key for others, in the format of signed-note. */
  readonly vkey: string
  /** Whether the key signed exactly these bytes. */
  verify(text: Uint8Array, signature: Uint8Array): boolean
}

/** A key that notes are signed with. */
export interface Signer extends Verifier {
  sign(text: Uint8Array): Buffer
}

const keyId = (name: string, type: number, key: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), key]), 'buffer').subarray(0, 4)

function verifierOf(name: string, type: SignatureType, raw: Buffer, key: KeyObject): Verifier {
  const id = keyId(name, type, raw)
  const vkey = `${name}+${id.toString('hex')}+${Buffer.concat([Buffer.of(type), raw]).toString('base64')}`
  return { name, id, type, vkey, verify: (text, signature) => verify(null, text, key, signature) }
}

/**
 * Reads a verifier key; undefined for text that is none, whose id is not its own, or of a type not read here.
 */
export function parseVkey(text: string): Verifier | undefined {
  const [, name, , base64] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  if (name === undefined || base64 === undefined) return undefined
  const bytes = Buffer.from(base64, 'base64')
  const scheme = schemeOf(bytes[0])
  const raw = bytes.subarray(1)
  if (scheme === undefined || raw.length !== scheme.publicBytes) return undefined
  const key = createPublicKey({
    key: Buffer.concat([Buffer.from(scheme.publicPrefix, 'hex'), raw]),
    format: 'der',
    type: 'spki',
  })
  const verifier = verifierOf(name, bytes[0] as SignatureType, raw, key)
  // A key has one text: base64 that ends otherwise, or another id, is none of it.
  return verifier.vkey === text ? verifier : undefined
}

/** @param seed 32 bytes: the secret that signs */
export function signerOf(name: string, type: SignatureType, seed: Uint8Array): Signer {
  const scheme = type === SIGNATURE_TYPES.mlDsa44 ? ML_DSA_44 : ED25519
  const key = createPrivateKey({
    key: Buffer.concat([Buffer.from(scheme.privatePrefix, 'hex'), seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const publicKey = createPublicKey(key)
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-scheme.publicBytes)
  return { ...verifierOf(name, type, raw, publicKey), sign: (text) => sign(null, text, key) }
}

/** Whether a signature has the length of its type; one of ML-DSA begins with a time of eight bytes. */
export const hasSignatureLength = (type: SignatureType, bytes: number): boolean =>
  bytes === (schemeOf(type)?.signatureBytes ?? 0) + (type === SIGNATURE_TYPES.ed25519 ? 0 : 8)
