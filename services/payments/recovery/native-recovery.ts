import { createRequire } from 'node:module'
import { authorizationDigest } from './authorization-digest.ts'
import { keccak256 } from './keccak.ts'
import type { Authorization, RecoverSigner } from './recover-signer.ts'

/** This library's errors for a signature that no key can have made; anything else is a fault of ours. */
const NO_SIGNER: ReadonlySet<string> = new Set([
  'Signature could not be parsed',
  'Public key could not be recover',
])

/** A check: r and s, the hash that was signed, and which of the two points it belongs to. */
export const CHECK_BYTES = 97
/** Its signer: a byte that is 1 where there is one, and the address. */
const SIGNER_BYTES = 21

/** Recovery in two halves, so that the costly one can be done in another place. */
export interface NativeRecovery extends RecoverSigner {
  /** The signers of checks. Both lie one after another. */
  readonly signersOf: (checks: Uint8Array) => Uint8Array
}

/**
 * Recovery by libsecp256k1. The package falls back to JavaScript by itself where its binary does not load; that one
 * is no faster than viem's, so the binary is asked for by name.
 *
 * @throws Error where there is no binary for this platform
 */
export function createNativeRecovery(): NativeRecovery {
  const require = createRequire(import.meta.url)
  const { ecdsaRecover } = require('secp256k1/bindings.js') as typeof import('secp256k1')

  function signersOf(checks: Uint8Array): Uint8Array {
    const signers = new Uint8Array((checks.length / CHECK_BYTES) * SIGNER_BYTES)
    for (let from = 0, to = 0; from < checks.length; from += CHECK_BYTES, to += SIGNER_BYTES) {
      const publicKey = publicKeyOf(checks.subarray(from, from + CHECK_BYTES))
      if (publicKey === undefined) continue
      signers[to] = 1
      // An address is the end of the hash of both coordinates; the byte in front of them says that both follow.
      signers.set(keccak256(publicKey.subarray(1)).subarray(12), to + 1)
    }
    return signers
  }

  function publicKeyOf(check: Uint8Array): Uint8Array | undefined {
    try {
      return ecdsaRecover(check.subarray(0, 64), check[96] ?? 0, check.subarray(64, 96), false)
    } catch (error) {
      if (error instanceof Error && NO_SIGNER.has(error.message)) return undefined
      throw error
    }
  }

  return {
    name: 'native',
    signersOf,
    async recover(authorization, signature) {
      const check = checkOf(authorization, signature)
      return check && signerAt(signersOf(check), 0)
    },
  }
}

/** The check of a signature. It is undefined where the signature has another form. */
export function checkOf(authorization: Authorization, signature: `0x${string}`): Uint8Array | undefined {
  const bytes = Buffer.from(signature.slice(2), 'hex')
  const recoveryId = recoveryIdOf(bytes[64])
  if (bytes.length !== 65 || recoveryId === undefined) return undefined
  const check = Buffer.concat([bytes.subarray(0, 64), authorizationDigest(authorization)], CHECK_BYTES)
  check[96] = recoveryId
  return check
}

/** Which of the two points a signature belongs to: 27 and 28 since Bitcoin, 0 and 1 in other places. */
function recoveryIdOf(v: number | undefined): 0 | 1 | undefined {
  if (v === 27 || v === 0) return 0
  return v === 28 || v === 1 ? 1 : undefined
}

/** The signer of the check with that index, in lower case. */
export function signerAt(signers: Uint8Array, index: number): `0x${string}` | undefined {
  const [isFound, ...address] = signers.subarray(index * SIGNER_BYTES, (index + 1) * SIGNER_BYTES)
  return isFound === 1 ? `0x${Buffer.from(address).toString('hex')}` : undefined
}
