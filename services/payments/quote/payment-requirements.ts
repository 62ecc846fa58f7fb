import { GATEWAY_DOMAIN, type PaymentChain } from '../../../contracts/domain/chain.ts'
import type { Rail } from '../../../contracts/events/payment-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'

export const MIME_TYPE = 'application/json'

/** A priced resource. */
export interface Priced {
  readonly url: string
  readonly description: string
  /** Millionths of a USDC. */
  readonly price: bigint | string
  readonly payTo: string
}

/**
 * The payment requirements of x402 version 1. Its clients insist on these members and stumble over others:
 * `outputSchema: null` is one.
 */
export const requirementsV1 = (
  { usdc, domain }: PaymentChain,
  network: string,
  { url, description, price, payTo }: Priced,
) => ({
  scheme: 'exact',
  network,
  maxAmountRequired: String(price),
  resource: url,
  description,
  mimeType: MIME_TYPE,
  payTo,
  maxTimeoutSeconds: LIMITS.paymentValidityS,
  asset: usdc,
  extra: { ...domain },
})

/** The payment requirements of x402 version 2 on a rail. */
export const requirementsV2 = (
  { network, usdc, domain, gateway }: PaymentChain,
  rail: Rail,
  { price, payTo }: Pick<Priced, 'price' | 'payTo'>,
) => ({
  scheme: 'exact',
  network,
  amount: String(price),
  asset: usdc,
  payTo,
  maxTimeoutSeconds: rail === 'gateway' ? LIMITS.gatewayValidityS : LIMITS.paymentValidityS,
  extra:
    rail === 'gateway' && gateway !== undefined
      ? { ...GATEWAY_DOMAIN, verifyingContract: gateway }
      : { ...domain },
})
