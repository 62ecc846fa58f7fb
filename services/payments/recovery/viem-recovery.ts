import type { RecoverSigner } from './recover-signer.ts'
import { signingDomain } from './signing-domains.ts'

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

/** Recovery by viem, for where the fast way does not work. Tests compare the two. */
export const createViemRecovery = (): RecoverSigner => ({
  name: 'viem',
  async recover({ on, rail, payer, payTo, value, validAfter, validBefore, nonce }, signature) {
    if (signature.length !== 132) return undefined
    const { recoverTypedDataAddress } = await import('viem')
    const typed = {
      domain: signingDomain(rail, on),
      types: AUTHORIZATION_TYPES,
      primaryType: 'TransferWithAuthorization',
      message: { from: payer, to: payTo, value, validAfter, validBefore, nonce },
    } as const
    const signer = await recoverTypedDataAddress({ ...typed, signature }).catch(noSigner)
    return signer?.toLowerCase() as `0x${string}` | undefined
  },
})

/** The form of everything else was checked, so what viem cannot make an address of is the signature. */
const noSigner = (): undefined => undefined
