import { createPublicKey, sign } from 'node:crypto'
import type { PaymentChain } from '../../../contracts/chain.ts'
import { DOCUMENTED_ADDRESS } from '../../../contracts/documented-address.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { REFUND_CAUSES } from '../../../contracts/refund-events.ts'
import { ed25519KeyOf } from '../../runtime/secrets/ed25519.ts'
import type { Payment } from '../state/payment-state.ts'

/** One of `accepts`, as it is offered. */
type Accepted = JsonObject & {
  readonly scheme: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
  readonly amount: string
}

/** Signs what is offered, and what was paid and answered (x402, extension `offer-receipt`, format JWS). */
export interface OfferSigner {
  /** @param validUntil Unix seconds: until then the offer binds */
  offers(resourceUrl: string, accepts: readonly Accepted[], validUntil: number): JsonObject[]
  /** Signs that a payment came and was answered; the same receipt at any time. */
  receipt(payment: Pick<Payment, 'product' | 'payer' | 'transaction' | 'changedAtMs'>): JsonObject
  /** The keys that may sign for this origin, as in `/.well-known/did.json` (DID Core, method web). */
  didDocument(): JsonObject
}

/**
 * The refund terms in every signed offer, on which a buyer can rely: the reasons, the forms, and the seconds in which the
 * answer may be requested again first.
 */
export const REFUND_TERMS = {
  reasons: REFUND_CAUSES,
  as: ['transfer', 'credit'],
  afterSeconds: LIMITS.refundAfterMs / 1_000,
} as const
const REFUND_POLICY = '/docs/paying#can-i-have-my-money-back'

const KEY_NAME = 'x402'

/**
 * @param seed 32 secret bytes, which are for nothing else; every process of a log has the same
 * @param publicUrl the address under which callers reach the service, whose domain the key signs for
 */
export function createOfferSigner({
  on,
  seed,
  publicUrl,
}: {
  readonly on: PaymentChain
  readonly seed: Uint8Array
  readonly publicUrl: () => string
}): OfferSigner {
  const key = ed25519KeyOf(seed)
  const { kty, crv, x } = createPublicKey(key).export({ format: 'jwk' })
  const origin = (): string => publicUrl() || DOCUMENTED_ADDRESS
  const did = (): string => `did:web:${encodeURIComponent(new URL(origin()).host)}`
  const signed = (payload: JsonObject): JsonObject => {
    const header = { alg: 'EdDSA', kid: `${did()}#${KEY_NAME}` }
    const text = [header, payload].map((part) => encoded(JSON.stringify(part))).join('.')
    return { format: 'jws', signature: `${text}.${encoded(sign(null, Buffer.from(text), key))}` }
  }
  return {
    offers: (resourceUrl, accepts, validUntil) =>
      accepts.map(({ scheme, network, asset, payTo, amount }, acceptIndex) => ({
        acceptIndex,
        ...signed({
          version: 1,
          resourceUrl,
          scheme,
          network,
          asset,
          payTo,
          amount,
          validUntil,
          refundTerms: { ...REFUND_TERMS, policyUrl: `${origin()}${REFUND_POLICY}` },
        }),
      })),
    receipt: ({ product, payer, transaction, changedAtMs }) =>
      signed({
        version: 1,
        network: on.network,
        resourceUrl: `${origin()}/x402/${product}`,
        payer,
        issuedAt: Math.floor(changedAtMs / 1_000),
        ...(transaction !== null && { transaction }),
      }),
    didDocument() {
      const id = did()
      const method = `${id}#${KEY_NAME}`
      const publicKeyJwk = { kty: kty ?? '', crv: crv ?? '', x: x ?? '' }
      return {
        '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/jwk/v1'],
        id,
        verificationMethod: [{ id: method, type: 'JsonWebKey', controller: id, publicKeyJwk }],
        assertionMethod: [method],
      }
    },
  }
}

const encoded = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('base64url')
