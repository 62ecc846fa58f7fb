import { createRequire } from 'node:module'
import { authorizationDigest } from './authorization-digest.ts'
import { keccak256 } from './keccak.ts'
import type { RecoverSigner } from './recover-signer.ts'

/** This library's errors for a signature that no key can have made; anything else is a fault of ours. */
const NO_SIGNER: ReadonlySet<string> = new Set([
  'Signature could not be parsed',
  'Public key could not be recover',
])

/**
 * Recovery by libsecp256k1. The package falls back to JavaScript by itself where its binary does not load; that one
 * is no faster than viem's, so the binary is asked for by name.
 *
 * @throws Error where there is no binary for this platform
 */
export function createNativeRecovery(): RecoverSigner {
  const require = createRequire(import.meta.url)
  const { ecdsaRecover } = require('secp256k1/bindings.js') as typeof import('secp256k1')
  return {
    name: 'native',
    async recover(authorization, signature) {
      const bytes = Buffer.from(signature.slice(2), 'hex')
      const recoveryId = recoveryIdOf(bytes[64])
      if (bytes.length !== 65 || recoveryId === undefined) return undefined
      const publicKey = publicKeyOf(bytes.subarray(0, 64), recoveryId, authorizationDigest(authorization))
      if (publicKey === undefined) return undefined
      // An address is the end of the hash of both coordinates; the byte in front of them says that both follow.
      return `0x${Buffer.from(keccak256(publicKey.subarray(1)).subarray(12)).toString('hex')}`
    },
  }

  function publicKeyOf(rs: Uint8Array, recoveryId: 0 | 1, digest: Uint8Array): Uint8Array | undefined {
    try {
      return ecdsaRecover(rs, recoveryId, digest, false)
    } catch (error) {
      if (error instanceof Error && NO_SIGNER.has(error.message)) return undefined
      throw error
    }
  }
}

/** Which of the two points a signature belongs to: 27 and 28 since Bitcoin, 0 and 1 in other places. */
function recoveryIdOf(v: number | undefined): 0 | 1 | undefined {
  if (v === 27 || v === 0) return 0
  return v === 28 || v === 1 ? 1 : undefined
}
