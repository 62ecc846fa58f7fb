import { GATEWAY_DOMAIN, type PaymentChain } from '../../../contracts/domain/chain.ts'
import { reasonOf } from '../../../contracts/errors/errors.ts'
import type { Rail } from '../../../contracts/events/payment-events.ts'

/** The signed message: the `TransferWithAuthorization` of ERC-3009, under the domain of its rail. */
export interface Authorization {
  readonly on: PaymentChain
  readonly rail: Rail
  readonly payer: `0x${string}`
  readonly payTo: `0x${string}`
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 32 bytes. */
  readonly nonce: `0x${string}`
}

export const AUTHORIZATION_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** The EIP-712 domain of a rail. It is ours, never a client's: a signature under any other domain brings no money. */
export const signingDomain = (rail: Rail, { id, usdc, domain, gateway }: PaymentChain) =>
  rail === 'gateway' && gateway !== undefined
    ? { ...GATEWAY_DOMAIN, chainId: id, verifyingContract: gateway }
    : { ...domain, chainId: id, verifyingContract: usdc }

/** The contract that a rail's signatures are for, in lower case, as streams and events name it. */
export const contractOf = (rail: Rail, on: PaymentChain): string =>
  signingDomain(rail, on).verifyingContract.toLowerCase()

/**
 * The address whose key signed an authorization. It does not tell whether the token would take that signature: a high s,
 * and a v of 0 or 1, are recovered too.
 *
 * @param signature 65 bytes in hexadecimal: r, s, v
 * @returns in lower case; undefined if no key can have made it
 */
export type RecoverSigner = (
  authorization: Authorization,
  signature: `0x${string}`,
) => Promise<`0x${string}` | undefined>

/**
 * Loads signer recovery: viem hashes, libsecp256k1 recovers. Without a binary for this platform viem does both, which
 * takes ten times as long.
 *
 * @param report called once if the binary cannot be loaded
 */
export async function openRecovery({
  report,
}: {
  readonly report: (event: string, details: Readonly<Record<string, string>>) => void
}): Promise<RecoverSigner> {
  const { hashTypedData, hexToBytes, keccak256, recoverAddress } = await import('viem')
  const native = await loadBinary(report)
  return async ({ on, rail, payer, payTo, ...terms }, signature) => {
    if (signature.length !== 132) return undefined
    const hash = hashTypedData({
      domain: signingDomain(rail, on),
      types: AUTHORIZATION_TYPES,
      primaryType: 'TransferWithAuthorization',
      message: { ...terms, from: payer, to: payTo },
    })
    try {
      if (native === undefined)
        return (await recoverAddress({ hash, signature })).toLowerCase() as `0x${string}`
      const bytes = hexToBytes(signature)
      const v = bytes[64] ?? 0
      const publicKey = native.ecdsaRecover(bytes.subarray(0, 64), v % 27, hexToBytes(hash), false)
      // An address is the end of the hash of both coordinates, which follow a byte that says so.
      return `0x${keccak256(publicKey.subarray(1)).slice(-40)}`
    } catch {
      return undefined
    }
  }
}

/** It has no types. The package itself falls back to JavaScript, which is no faster than viem. */
const BINARY: string = 'secp256k1/bindings.js'

async function loadBinary(
  report: (event: string, details: Readonly<Record<string, string>>) => void,
): Promise<Pick<typeof import('secp256k1'), 'ecdsaRecover'> | undefined> {
  try {
    const loaded: { default: typeof import('secp256k1') } = await import(BINARY)
    return loaded.default
  } catch (error) {
    report('libsecp256k1 could not be loaded; viem recovers signers, ten times slower', {
      reason: reasonOf(error),
    })
    return undefined
  }
}
