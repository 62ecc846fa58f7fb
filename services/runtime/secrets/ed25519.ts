import { createPrivateKey, type KeyObject } from 'node:crypto'

/** In front of the 32 bytes of a seed: DER of PKCS #8 (RFC 8410 §7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

/** @param seed 32 secret bytes */
export const ed25519KeyOf = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' })
