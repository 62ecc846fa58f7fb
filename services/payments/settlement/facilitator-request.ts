import { getAddress } from 'viem'
import { BASE, GATEWAY_ADDRESS, GATEWAY_DOMAIN, USDC_DOMAIN } from '../../../contracts/chain.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Rail } from '../../../contracts/payment-events.ts'
/** What a facilitator is told of a payment: of one that is claimed, or that may be. */
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
export function facilitatorRequest(claim: ForwardedPayment, publicUrl: string): JsonObject {
  const paymentRequirements =
    claim.protocol === 1 && claim.rail === 'direct' ? requirementsV1(claim, publicUrl) : requirementsV2(claim)
  const paymentPayload = payloadOf(claim, paymentRequirements, publicUrl)
  if (claim.rail === 'gateway') return { paymentPayload, paymentRequirements }
  return { x402Version: claim.protocol, paymentPayload, paymentRequirements }
}

const resourceOf = ({ product }: ForwardedPayment, publicUrl: string): string =>
  `${publicUrl.replace(/\/$/, '')}/x402/${product}`

function requirementsV1(claim: ForwardedPayment, publicUrl: string): JsonObject {
  return {
    scheme: 'exact',
    network: BASE.networkV1,
    maxAmountRequired: String(claim.value),
    resource: resourceOf(claim, publicUrl),
    description: claim.product,
    mimeType: 'application/json',
    payTo: getAddress(claim.payTo),
    maxTimeoutSeconds: LIMITS.paymentValidityS,
    asset: BASE.usdc,
    extra: { ...USDC_DOMAIN },
  }
}

function requirementsV2({ rail, value, payTo }: ForwardedPayment): JsonObject {
  const isGateway = rail === 'gateway'
  return {
    scheme: 'exact',
    network: BASE.network,
    amount: String(value),
    asset: BASE.usdc,
    payTo: getAddress(payTo),
    maxTimeoutSeconds: isGateway ? LIMITS.gatewayValidityS : LIMITS.paymentValidityS,
    extra: isGateway ? { ...GATEWAY_DOMAIN, verifyingContract: GATEWAY_ADDRESS } : { ...USDC_DOMAIN },
  }
}

function payloadOf(claim: ForwardedPayment, requirements: JsonObject, publicUrl: string): JsonObject {
  const payload = {
    signature: claim.signature,
    authorization: {
      from: getAddress(claim.payer),
      to: getAddress(claim.payTo),
      value: String(claim.value),
      validAfter: String(claim.validAfter),
      validBefore: String(claim.validBefore),
      nonce: claim.nonce,
    },
  }
  if (requirements['network'] === BASE.networkV1) {
    return { x402Version: 1, scheme: 'exact', network: BASE.networkV1, payload }
  }
  const resource = {
    url: resourceOf(claim, publicUrl),
    description: claim.product,
    mimeType: 'application/json',
  }
  return { x402Version: 2, resource, accepted: requirements, payload }
}
