import { z } from 'zod'
import { addressSchema, bytes32Schema, microUsdcSchema } from '../domain/chain.ts'
import { paymentId, reason } from '../infra/field-schemas.ts'
import { defineEvent } from './event-definition.ts'

const stream = 'payment-{chain}.{contract}.{payer}.{nonce}'
const attempt = z.int().positive()
const block = z.int().nonnegative()

/** `direct`: a transfer on the chain. `gateway`: a credit in the ledger of a payment gateway. */
export const RAILS = ['direct', 'gateway'] as const
export type Rail = (typeof RAILS)[number]

/** The party that settles a payment: a facilitator, or the payment gateway. */
const SETTLERS = ['facilitator', 'gateway'] as const
export type SettlerKind = (typeof SETTLERS)[number]

/** Why a claim never becomes money. */
const UNCOLLECTABLE_REASONS = [
  'cancelled',
  'expired',
  'insufficient_funds',
  'refused',
  /** Its caller has gone before anything was sent for it. */
  'abandoned',
  /** Requests to settle had no clear answer until it ended: the operator looks it up by hand. */
  'unclear',
] as const
export type UncollectableReason = (typeof UNCOLLECTABLE_REASONS)[number]

export const PaymentClaimed = defineEvent('PaymentClaimed', stream, {
  summary: 'A payment authorization was bound to one request and its answer: the first event of a payment.',
  data: z.object({
    paymentId,
    rail: z.enum(RAILS),
    /** Version of x402 that the payer spoke. */
    protocol: z.union([z.literal(1), z.literal(2)]),
    chainId: z.int().positive(),
    /** The contract that the signature is for: the token, or the gateway's wallet. */
    contract: addressSchema,
    asset: addressSchema,
    payer: addressSchema,
    payTo: addressSchema,
    /** Millionths of a USDC. */
    value: microUsdcSchema,
    /** Unix seconds, exclusive, as the token checks them; decimal text, since a client may send any uint256. */
    validAfter: z.string().regex(/^\d{1,78}$/),
    validBefore: z.int().positive(),
    nonce: bytes32Schema,
    /** 65 bytes: r, s, v. */
    signature: z.string().regex(/^0x[0-9a-f]{130}$/),
    /** A tool, or `plans/{tier}`. */
    product: z.string().min(1).max(64),
    /** Hash of the product and its request in canonical form. */
    requestHash: z.string().regex(/^[0-9a-f]{64}$/),
    /** The answer as it was or will be given, JSON text without the metadata of the channel. */
    answer: z.string().max(262_144),
    /** The account whose plan it buys; null for a tool. */
    accountId: z.uuid().nullable(),
    isServedFirst: z.boolean(),
  }),
})

export const SettlementRequested = defineEvent('SettlementRequested', stream, {
  summary: 'Settling begins: from here until an outcome is known, the authorization may have been used.',
  data: z.object({ paymentId, attempt, settler: z.enum(SETTLERS) }),
})

export const SettlementBroadcast = defineEvent('SettlementBroadcast', stream, {
  summary: 'The facilitator has named the transaction that uses the authorization.',
  data: z.object({ paymentId, attempt, transaction: bytes32Schema }),
})

export const SettlementFailed = defineEvent('SettlementFailed', stream, {
  summary: 'An attempt to settle is known to have moved nothing; the payment is owed as before.',
  data: z.object({ paymentId, attempt, reason }),
})

export const SettlementUnknown = defineEvent('SettlementUnknown', stream, {
  summary: 'The outcome of a settlement attempt is unknown for now; it is looked up, never assumed.',
  data: z.object({ paymentId, attempt, reason }),
})

export const SettlementConfirmed = defineEvent('SettlementConfirmed', stream, {
  summary: 'The money is there: the transfer is in a block, or the gateway has credited it.',
  data: z.object({
    paymentId,
    /** Hash of the transaction; on the gateway rail the gateway's own name for the transfer. */
    transaction: z.string().min(1).max(128),
    /** Null on the gateway rail. */
    blockNumber: block.nullable(),
    blockHash: bytes32Schema.nullable(),
    /** `other`: somebody else sent the authorization to the chain; the money came to us all the same. */
    by: z.enum([...SETTLERS, 'other']),
  }),
})

export const SettlementFinalised = defineEvent('SettlementFinalised', stream, {
  summary: 'The block of the transfer is final; nothing can undo it.',
  data: z.object({ paymentId, transaction: z.string().min(1).max(128), blockNumber: block.nullable() }),
})

export const SettlementReorged = defineEvent('SettlementReorged', stream, {
  summary: 'The block of the transfer is not part of the chain any more; the payment is owed again.',
  data: z.object({ paymentId, transaction: z.string().min(1).max(128), blockNumber: block.nullable() }),
})

export const PaymentUncollectable = defineEvent('PaymentUncollectable', stream, {
  summary: 'The authorization can never be settled. If its answer was served first, the payer has a debt.',
  data: z.object({ paymentId, reason: z.enum(UNCOLLECTABLE_REASONS), detail: z.string().max(200) }),
})

export const RefundSent = defineEvent('RefundSent', stream, {
  summary: 'The operator sent money back by hand.',
  data: z.object({ paymentId, value: microUsdcSchema, transaction: bytes32Schema, reason }),
})
