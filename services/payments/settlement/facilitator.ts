import { z } from 'zod'
import type { PaymentChain } from '../../../contracts/domain/chain.ts'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Rail } from '../../../contracts/events/payment-events.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createConcurrencyLimit } from '../../runtime/admission/concurrency-limit.ts'
import { boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { MIME_TYPE, requirementsV2 } from '../quote/payment-requirements.ts'
import { isX402Reason, type X402Reason } from '../refusal.ts'
import type { Authorize } from './facilitator-token.ts'

/** A payment as facilitators need it, claimed or about to be. */
export interface ForwardedPayment {
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

/** A facilitator's answer to a settlement. Only `settled` is about money; the chain overrules the others. */
export type FacilitatorVerdict =
  /** @param transaction its hash, or the gateway's name of the transfer */
  | { readonly kind: 'settled'; readonly transaction: string }
  | { readonly kind: 'pending'; readonly transaction: string }
  /** The authorization was used before: perhaps by itself, at an earlier request. */
  | { readonly kind: 'used'; readonly reason: string }
  | {
      readonly kind: 'refused'
      readonly why: 'insufficient_funds' | 'refused'
      readonly reason: string
    }
  /** No answer, or none that can be read: it may have settled. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** A facilitator's answer about a payment that is not claimed yet: no promise, but it detects an empty account. */
export type FacilitatorOpinion =
  | { readonly kind: 'valid' }
  /** @param code the reason in the words of x402 */
  | { readonly kind: 'refused'; readonly reason: string; readonly code: X402Reason }
  /** No answer, or none that can be read. */
  | { readonly kind: 'unknown'; readonly reason: string }

export interface Facilitator {
  /** Whether the payer could pay now. Never rejects for what the facilitator does. */
  verify(payment: ForwardedPayment, signal: AbortSignal): Promise<FacilitatorOpinion>
  /** Never rejects for what the facilitator does. */
  settle(claim: ForwardedPayment, signal: AbortSignal): Promise<FacilitatorVerdict>
  /**
   * The gateway's name of the transfer that an authorization was used for, by nonce, payer, recipient and amount;
   * undefined where it shows none. Never rejects for what the gateway does.
   */
  findTransfer(claim: ForwardedPayment, signal: AbortSignal): Promise<string | undefined>
  /** Asks what it can settle. @returns why it cannot be used, or undefined */
  problem(signal: AbortSignal): Promise<string | undefined>
}

export interface FacilitatorOptions {
  readonly on: PaymentChain
  /** Base address: `/verify`, `/settle` and `/supported` are below it. */
  readonly url: string
  /** Base address of this service. */
  readonly publicUrl: () => string
  readonly authorize?: Authorize | undefined
  /** How long one request may take, milliseconds. */
  readonly requestMs?: number
}

/** The members of an answer of /settle that are read. */
const verdictSchema = z.object({
  success: z.boolean(),
  transaction: z.string().max(128).nullish(),
  errorReason: z.string().max(1_000).nullish(),
})

/** The same of the gateway's list of transfers. One that has failed is none. */
const transfersSchema = z.object({
  transfers: z.array(
    z.object({
      id: z.string().min(1).max(128),
      status: z.string(),
      fromAddress: z.string(),
      toAddress: z.string(),
      amount: z.string(),
      nonce: z.string().optional(),
    }),
  ),
})
const TRANSFERRED: ReadonlySet<string> = new Set(['received', 'batched', 'confirmed', 'completed'])

/** The same of an answer of /verify. */
const opinionSchema = z.object({ isValid: z.boolean(), invalidReason: z.string().max(1_000).nullish() })

export function createFacilitator(options: FacilitatorOptions): Facilitator {
  const { on, url, publicUrl, authorize, requestMs = LIMITS.chainRequestMs } = options

  /** @throws ServiceError `payments_unavailable` where there is no answer or it is no JSON */
  async function request(
    method: 'GET' | 'POST',
    path: string,
    body: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly json: unknown }> {
    const address = new URL(`${url.replace(/\/$/, '')}${path}`)
    try {
      const init = {
        method,
        headers: {
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(authorize !== undefined && { authorization: await authorize(method, address) }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }
      // A redirect fails: followed, it would hand the token to another host.
      const bounds = { signal, timeMs: requestMs, mostBytes: LIMITS.facilitatorAnswerBytes }
      const answer = await boundedFetch(address, init, bounds)
      return { status: answer.status, json: parsed(answer.body.toString(), answer.status) }
    } catch (cause) {
      if (isServiceError(cause)) throw cause
      throw noAnswerError(reasonOf((cause as Error).cause ?? cause), cause)
    }
  }

  const limited = createConcurrencyLimit(LIMITS.payersAskedAtOnce)

  return {
    verify: (payment, signal) =>
      answeredOr<FacilitatorOpinion>(unknownBecause, async () => {
        const body = facilitatorRequest(on, payment, publicUrl())
        const { status, json } = await limited(payment.payer, () => request('POST', '/verify', body, signal))
        return opinionOf(status, json)
      }),
    settle: (claim, signal) =>
      answeredOr<FacilitatorVerdict>(unknownBecause, async () => {
        const answer = await request('POST', '/settle', facilitatorRequest(on, claim, publicUrl()), signal)
        return verdictOf(answer.status, answer.json)
      }),
    findTransfer: (claim, signal) =>
      answeredOr<string | undefined>(
        () => undefined,
        async () => {
          const sought = new URLSearchParams({ nonce: claim.nonce, from: claim.payer, to: claim.payTo })
          const { json } = await request('GET', `/transfers?${sought.toString()}`, undefined, signal)
          return transferOf(claim, json)
        },
      ),
    problem: (signal) =>
      answeredOr<string | undefined>(
        (reason) => reason,
        async () => {
          const { status, json } = await request('GET', '/supported', undefined, signal)
          if (status === 401 || status === 403)
            return `the facilitator refuses our credential (HTTP ${status})`
          if (status !== 200) return `the facilitator answers HTTP ${status} to /supported`
          return z.object({ kinds: z.array(z.unknown()) }).safeParse(json).success
            ? undefined
            : 'the facilitator does not say what it supports'
        },
      ),
  }
}

const unknownBecause = (reason: string) => ({ kind: 'unknown', reason: bounded(reason) }) as const

/** Asks a facilitator. No answer is no error, but something that stands for it. */
async function answeredOr<Answer>(
  otherwise: (reason: string) => Answer,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    if (!isServiceError(error)) throw error
    return otherwise(error.message)
  }
}

/** Reads a verdict, which an answer of any status may hold. A text that is no known code may be about money that has moved. */
export function verdictOf(status: number, json: unknown): FacilitatorVerdict {
  const read = verdictSchema.safeParse(json)
  if (!read.success)
    return { kind: 'unknown', reason: `the facilitator answered HTTP ${status} without a verdict` }
  const { success, transaction, errorReason } = read.data
  const named = transaction ?? ''
  if (success) {
    if (named !== '') return { kind: 'settled', transaction: named }
    return { kind: 'unknown', reason: 'the facilitator says settled, and names no transaction' }
  }
  const reason = bounded(errorReason ?? `HTTP ${status} without a reason`)
  const kind = kindOf(reason)
  if (kind === 'pending' && named !== '') return { kind, transaction: named }
  if (kind === 'used') return { kind, reason }
  if (status >= 500 || kind === undefined || kind === 'pending') return { kind: 'unknown', reason }
  return { kind: 'refused', why: kind, reason }
}

/** The name of the transfer in a gateway's list that is the one of a payment. */
function transferOf({ nonce, payer, payTo, value }: ForwardedPayment, json: unknown): string | undefined {
  const read = transfersSchema.safeParse(json)
  const isSame = (one: string | undefined, other: string): boolean =>
    one?.toLowerCase() === other.toLowerCase()
  return read.data?.transfers.find(
    (found) =>
      TRANSFERRED.has(found.status) &&
      isSame(found.nonce, nonce) &&
      isSame(found.fromAddress, payer) &&
      isSame(found.toAddress, payTo) &&
      found.amount === String(value),
  )?.id
}

/** Reads an opinion, which an answer of any status may hold. A fault of its own says nothing of the payer. */
export function opinionOf(status: number, json: unknown): FacilitatorOpinion {
  const read = opinionSchema.safeParse(json)
  if (!read.success || (!read.data.isValid && status >= 500)) {
    return { kind: 'unknown', reason: `the facilitator answered HTTP ${status} to /verify` }
  }
  const { isValid, invalidReason } = read.data
  if (isValid) return { kind: 'valid' }
  const reason = bounded(invalidReason ?? `HTTP ${status} without a reason`)
  const kind = kindOf(reason)
  if (kind === 'insufficient_funds') return { kind: 'refused', reason, code: kind }
  if (kind === 'used') return { kind: 'refused', reason, code: 'invalid_transaction_state' }
  return { kind: 'refused', reason, code: isX402Reason(reason) ? reason : 'unexpected_verify_error' }
}

/** The codes of x402, of its reference facilitator and of Circle's gateway, each as a whole. Other words decide nothing. */
const CODES = {
  pending: ['settlement_pending'],
  used: ['nonce_already_used', 'invalid_exact_evm_nonce_already_used'],
  insufficient_funds: [
    'insufficient_funds',
    'insufficient_balance',
    'invalid_exact_evm_insufficient_balance',
  ],
  refused: [
    'address_mismatch',
    'amount_mismatch',
    'authorization_expired',
    'authorization_not_yet_valid',
    'authorization_validity_too_short',
    'invalid_exact_evm_authorization_value',
    'invalid_exact_evm_failed_to_parse_signature',
    'invalid_exact_evm_payload_authorization_valid_after',
    'invalid_exact_evm_payload_authorization_valid_before',
    'invalid_exact_evm_payload_authorization_value',
    'invalid_exact_evm_payload_authorization_value_mismatch',
    'invalid_exact_evm_payload_recipient_mismatch',
    'invalid_exact_evm_payload_signature',
    'invalid_exact_evm_recipient_mismatch',
    'invalid_exact_evm_signature',
    'invalid_network',
    'invalid_payload',
    'invalid_payment_requirements',
    'invalid_signature',
    'invalid_x402_version',
    'self_transfer',
    'unsupported_asset',
    'unsupported_domain',
    'unsupported_network',
    'unsupported_scheme',
    'wallet_not_found',
  ],
} as const
type CodeKind = keyof typeof CODES
const KINDS: ReadonlyMap<string, CodeKind> = new Map(
  Object.entries(CODES).flatMap(([kind, codes]) => codes.map((code) => [code, kind as CodeKind] as const)),
)
const kindOf = (code: string): CodeKind | undefined => KINDS.get(code)

/**
 * The body that asks a facilitator to check or to settle a payment, in version 2 of x402: what the payer signed, and
 * what we asked for. The gateway's has no version beside them.
 */
function facilitatorRequest(on: PaymentChain, claim: ForwardedPayment, publicUrl: string): JsonObject {
  const { rail, product, value, payTo, payer, validAfter, validBefore, nonce, signature } = claim
  const paymentRequirements = requirementsV2(on, rail, { price: value, payTo })
  const paymentPayload = {
    x402Version: 2,
    resource: {
      url: `${publicUrl.replace(/\/$/, '')}/x402/${product}`,
      description: product,
      mimeType: MIME_TYPE,
    },
    accepted: paymentRequirements,
    payload: {
      signature,
      authorization: {
        from: payer,
        to: payTo,
        value: String(value),
        validAfter: String(validAfter),
        validBefore: String(validBefore),
        nonce,
      },
    },
  }
  return { ...(rail === 'direct' && { x402Version: 2 }), paymentPayload, paymentRequirements }
}

function parsed(text: string, status: number): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw noAnswerError(`HTTP ${status} without JSON`, cause)
  }
}

const bounded = (text: string): string => text.slice(0, 200)

const noAnswerError = (reason: string, cause?: unknown): ServiceError =>
  new ServiceError('payments_unavailable', { message: `The facilitator did not answer: ${reason}`, cause })
