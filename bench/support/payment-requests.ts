import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { hashTypedData, hexToBytes } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { BASE } from '../../contracts/domain/chain.ts'
import { AUTHORIZATION_TYPES } from '../../services/payments/verification/recover-signer.ts'

const secp256k1 = createRequire(import.meta.url)('secp256k1') as typeof import('secp256k1')

export const USDC_SIGNING_DOMAIN = {
  ...BASE.domain,
  chainId: BASE.id,
  verifyingContract: BASE.usdc,
} as const

/** A payer's authorization with its signature. */
export interface SignedTransfer {
  readonly message: {
    readonly from: `0x${string}`
    readonly to: `0x${string}`
    readonly value: bigint
    readonly validAfter: bigint
    readonly validBefore: bigint
    readonly nonce: `0x${string}`
  }
  readonly signature: `0x${string}`
}

/** Authorizations of different payers in turn, signed by the fast library: a benchmark needs thousands. */
export function signTransfers(
  count: number,
  { payers, payTo, value }: { payers: number; payTo: `0x${string}`; value: bigint },
): SignedTransfer[] {
  const keys = Array.from({ length: payers }, () => {
    const key = randomBytes(32)
    return { key, address: privateKeyToAddress(`0x${key.toString('hex')}`) }
  })
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + 600)
  return Array.from({ length: count }, (_, index) => {
    const payer = keys[index % payers]
    if (payer === undefined) throw new Error('there are no payers')
    const nonce = `0x${randomBytes(32).toString('hex')}` as const
    const message = { from: payer.address, to: payTo, value, validAfter: 0n, validBefore, nonce }
    const digest = hashTypedData({
      domain: USDC_SIGNING_DOMAIN,
      types: AUTHORIZATION_TYPES,
      primaryType: 'TransferWithAuthorization',
      message,
    })
    const { signature, recid } = secp256k1.ecdsaSign(hexToBytes(digest), payer.key)
    const hex = Buffer.from(signature).toString('hex')
    return { message, signature: `0x${hex}${(27 + recid).toString(16)}` }
  })
}

/** Value of `X-PAYMENT`, version 1. */
export function paymentHeader({ message, signature }: SignedTransfer): string {
  const { from, to, nonce } = message
  const [value, validAfter, validBefore] = [message.value, message.validAfter, message.validBefore].map(
    String,
  )
  const authorization = { from, to, value, validAfter, validBefore, nonce }
  const payment = { x402Version: 1, scheme: 'exact', network: 'base', payload: { signature, authorization } }
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}

/** Writes one header a line, for the process that sends them. */
export const writeHeaders = (file: string, headers: readonly string[]): void =>
  writeFileSync(file, headers.join('\n'))
