import { toHex } from './bytes.ts'
import { SignalRefusal } from './refusal.ts'

type Hex = `0x${string}`

/** The payer: an account of viem is one. */
export interface PayerAccount {
  readonly address: Hex
  /** The type that viem gives to it depends on the value, so it is none here. */
  signTypedData(typedData: never): Promise<Hex>
}

/** One of the ways in which an answer may be paid for, as x402 has it in version 2. */
export interface Offer {
  readonly scheme: string
  readonly network: string
  /** Millionths of a USDC, as text. */
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string }
}

/** The answer of a service that wants to be paid. */
export interface PaymentRequired {
  readonly x402Version: 2
  readonly resource: unknown
  readonly accepts: readonly Offer[]
  readonly extensions?: unknown
}

/** A signed payment, as version 2 of x402 has it. */
export interface SignedPayment {
  readonly x402Version: 2
  readonly resource: unknown
  readonly accepted: Offer
  readonly payload: { readonly signature: Hex; readonly authorization: Readonly<Record<string, string>> }
}

/** Base, and the chain with play money that a service on trial brings along: what is signed for one is nothing on another. */
const CHAINS = [
  { network: 'eip155:8453', chainId: 8453, usdc: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' },
  {
    network: 'eip155:1252830783',
    chainId: 1_252_830_783,
    usdc: '0x5d77289c07401197e641f31ec228ac9196219079',
  },
] as const
const chainOf = ({ network, asset }: Offer): (typeof CHAINS)[number] | undefined =>
  CHAINS.find((chain) => chain.network === network && chain.usdc === asset.toLowerCase())
const USDC_NAME = 'USD Coin'
/** The clock of a chain is that of its newest block. */
const BEFORE_S = 600
/** No offer is worth being bound for longer. */
const LONGEST_S = 900

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/**
 * Signs the price of an answer: the holder of the payment can move this amount of USDC from the payer to the recipient, once,
 * and nothing else. Offers of other networks, of other tokens, and dearer ones are not signed.
 *
 * @param most millionths of a USDC
 * @throws SignalRefusal `offer_unacceptable`
 */
export async function signPayment(
  { accepts, resource }: PaymentRequired,
  account: PayerAccount,
  { most, now = Date.now() }: { readonly most: bigint; readonly now?: number },
): Promise<SignedPayment> {
  const known = accepts.find(
    (offer) => offer.scheme === 'exact' && offer.extra.name === USDC_NAME && chainOf(offer) !== undefined,
  )
  const chain = known && chainOf(known)
  if (known === undefined || chain === undefined) throw unacceptable('nothing is offered in USDC on Base')
  if (!/^\d{1,18}$/.test(known.amount) || BigInt(known.amount) > most)
    throw unacceptable(`${known.amount} millionths of a USDC are asked, more than ${most}`)
  const nowS = Math.floor(now / 1_000)
  const lasts = Math.min(LONGEST_S, known.maxTimeoutSeconds)
  const authorization = {
    from: account.address,
    to: known.payTo as Hex,
    value: known.amount,
    validAfter: String(nowS - BEFORE_S),
    validBefore: String(nowS + lasts),
    nonce: `0x${toHex(crypto.getRandomValues(new Uint8Array(32)))}`,
  }
  const typedData = {
    domain: { name: USDC_NAME, version: '2', chainId: chain.chainId, verifyingContract: chain.usdc },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
    },
  }
  const signature = await account.signTypedData(typedData as never)
  return { x402Version: 2, resource, accepted: known, payload: { signature, authorization } }
}

const unacceptable = (message: string): SignalRefusal => new SignalRefusal('offer_unacceptable', message)
