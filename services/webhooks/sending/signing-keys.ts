import { createPublicKey, type KeyObject } from 'node:crypto'
import { assert } from '../../../contracts/assert.ts'
import { ed25519KeyOf } from '../../runtime/secrets/ed25519.ts'

const KEY_BYTES = 32

/** Keys whose signatures anybody can check: the one that signs, and all that are published, as Standard Webhooks writes them. */
export interface SigningKeys {
  readonly signs: KeyObject
  readonly published: string[]
}

/** @param seeds 32 bytes each, oldest first; those that are not used yet are published before they sign */
export function signingKeysFrom(seeds: {
  readonly known: readonly Uint8Array[]
  readonly used: number
}): SigningKeys {
  const keys = seeds.known.map(ed25519KeyOf)
  const published = keys.map((key) => {
    const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
    return `whpk_${spki.subarray(-KEY_BYTES).toString('base64')}`
  })
  const signs = keys[seeds.used]
  assert(signs !== undefined, 'a key signs', seeds.used)
  return { signs, published }
}
