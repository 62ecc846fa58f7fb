import { z } from 'zod'
import { addressSchema, bytes32Schema, microUsdcSchema } from './chain.ts'
import { defineEvent } from './event-definition.ts'
import { paymentId } from './field-schemas.ts'

const payment = 'payment-{chain}.{contract}.{payer}.{nonce}'
const credit = 'credit-{chain}.{payer}'
const day = z.iso.date()
/** Processes that know only the first format of the log read streams of payments, and stop at what they do not know. */

/** The cause of a refund. */
export const REFUND_CAUSES = ['answer_not_given', 'plan_not_begun'] as const
export type RefundCause = (typeof REFUND_CAUSES)[number]

/** Why a refund is a credit and no transfer. */
export const CREDIT_REASONS = ['no_wallet', 'wallet_empty', 'daily_cap', 'not_sent'] as const
export type CreditReason = (typeof CREDIT_REASONS)[number]

export const AnswerWithheld = defineEvent({
  type: 'AnswerWithheld',
  stream: payment,
  summary:
    'The service failed to give an answer that was paid for, or to begin a plan. Where the money comes and the answer is not asked for again, it is refunded.',
  data: z.object({ paymentId, code: z.string().min(1).max(64) }),
})

export const AnswerGiven = defineEvent({
  type: 'AnswerGiven',
  stream: payment,
  summary:
    'The answer is given to who asks again: nothing is refunded from here on. Durable before the answer leaves.',
  data: z.object({ paymentId }),
})

export const RefundBegun = defineEvent({
  type: 'RefundBegun',
  stream: payment,
  summary:
    'What was paid is given back: the answer is not given any more. A transfer that could not be sent becomes a credit.',
  data: z.object({
    paymentId,
    by: z.enum(['transfer', 'credit']),
    /** Millionths of a USDC. */
    value: microUsdcSchema,
    cause: z.enum(REFUND_CAUSES),
    /** Null for a transfer. */
    why: z.enum(CREDIT_REASONS).nullable(),
  }),
})

export const CreditApplied = defineEvent({
  type: 'CreditApplied',
  stream: payment,
  summary:
    'The answer was paid for with a credit, in one append with its claim: its authorization is not used.',
  data: z.object({ paymentId, value: microUsdcSchema }),
})

export const RefundAllotted = defineEvent({
  type: 'RefundAllotted',
  stream: 'refunds-{day}',
  summary: 'A transfer has its place under the cap of its UTC day, before it is begun.',
  data: z.object({
    paymentId,
    day,
    value: microUsdcSchema,
    /** Total of the day, this refund included. */
    total: microUsdcSchema,
  }),
})

export const RefundAuthorised = defineEvent({
  type: 'RefundAuthorised',
  stream: 'refund-{payment}',
  summary:
    'The refund wallet signed the transfer of a refund. It is settled as a payment is: its nonce follows from the payment, so it moves money once.',
  data: z.object({
    /** The payment that is given back. */
    paymentId,
    chainId: z.int().positive(),
    contract: addressSchema,
    /** The refund wallet. */
    from: addressSchema,
    /** The payer. */
    to: addressSchema,
    value: microUsdcSchema,
    /** Unix seconds. */
    validBefore: z.int().positive(),
    nonce: bytes32Schema,
    signature: z.string().regex(/^0x[0-9a-f]{130}$/),
  }),
})

export const CreditGiven = defineEvent({
  type: 'CreditGiven',
  stream: credit,
  summary:
    'A payer has a credit for what it paid in vain: its next payments are not settled, as far as it reaches.',
  data: z.object({
    payer: addressSchema,
    /** The payment that is refunded; credit that comes back after a lost race has a name made of its authorization. */
    paymentId,
    value: microUsdcSchema,
    /** Left to the payer, this one included. */
    balance: microUsdcSchema,
  }),
})

export const CreditUsed = defineEvent({
  type: 'CreditUsed',
  stream: credit,
  summary: 'Credit was taken for one authorization, before that is claimed.',
  data: z.object({
    payer: addressSchema,
    /** Stream of the claim. */
    authorization: z.string().min(1).max(250),
    value: microUsdcSchema,
    balance: z.string().regex(/^\d{1,78}$/),
  }),
})
