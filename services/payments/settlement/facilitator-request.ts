import type { PaymentChain } from '../../../contracts/chain.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Rail } from '../../../contracts/payment-events.ts'
import { MIME_TYPE, requirementsV1, requirementsV2 } from '../quote/payment-requirements.ts'

/** A payment as facilitators need it, claimed or about to be. */
export interface ForwardedPayment {
  readonly protocol: 1 | 2
  readonly rail: Rail
  readonly product: string
  readonly payer: string
  readonly payTo: string
  readonly value: bigint | string
  readonly validAfter: bigint | string
  readonly validBefore: bigint | number
  readonly nonce: string
  readonly signature: string
}

/**
 * The body that asks a facilitator to check or to settle a payment: what the payer signed, and what we asked for,
 * rebuilt in the version that the payer spoke. The gateway's has no version beside them.
 *
 * @param publicUrl base address of the service; facilitators want to know what was paid for
 */
export function facilitatorRequest(on: PaymentChain, claim: ForwardedPayment, publicUrl: string): JsonObject {
  const { rail, product, value: price, payTo } = claim
  const priced = { price, payTo, url: resourceOf(claim, publicUrl), description: product }
  const paymentRequirements =
    claim.protocol === 1 && rail === 'direct' && on.networkV1 !== undefined
      ? requirementsV1(on, on.networkV1, priced)
      : requirementsV2(on, rail, priced)
  const paymentPayload = payloadOf(on, claim, paymentRequirements, publicUrl)
  if (claim.rail === 'gateway') return { paymentPayload, paymentRequirements }
  return { x402Version: claim.protocol, paymentPayload, paymentRequirements }
}

const resourceOf = ({ product }: ForwardedPayment, publicUrl: string): string =>
  `${publicUrl.replace(/\/$/, '')}/x402/${product}`

function payloadOf(
  on: PaymentChain,
  claim: ForwardedPayment,
  requirements: JsonObject,
  publicUrl: string,
): JsonObject {
  const payload = {
    signature: claim.signature,
    authorization: {
      from: claim.payer,
      to: claim.payTo,
      value: String(claim.value),
      validAfter: String(claim.validAfter),
      validBefore: String(claim.validBefore),
      nonce: claim.nonce,
    },
  }
  const { network } = requirements
  if (network !== undefined && network === on.networkV1)
    return { x402Version: 1, scheme: 'exact', network, payload }
  const resource = { url: resourceOf(claim, publicUrl), description: claim.product, mimeType: MIME_TYPE }
  return { x402Version: 2, resource, accepted: requirements, payload }
}
