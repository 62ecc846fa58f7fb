import { z } from 'zod'
import { addressSchema } from '../domain/chain.ts'
import { RAILS } from '../events/payment-events.ts'
import { instant, textOrNull } from '../infra/field-schemas.ts'
import { PAYMENT_STATES } from './service-block.ts'

const amount = z.string().describe('USDC, decimal, as in 0.02')

/** A payment, to who holds its id. */
export const paymentAnswerSchema = z.object({
  id: z.uuid(),
  state: z.enum(PAYMENT_STATES),
  rail: z.enum(RAILS).describe('direct: a transfer on the chain; gateway: a credit at the payment gateway'),
  product: z.string().describe('A tool, or plans/{tier}'),
  payer: addressSchema,
  amount_usdc: amount,
  refunded_usdc: amount,
  is_served_first: z.boolean().describe('Whether the answer left before the money was there'),
  transaction: textOrNull.describe('The transaction that settles it; on the gateway rail, its name there'),
  block: z.int().nonnegative().nullable().describe('Number of its block'),
  reason: textOrNull.describe('Why the newest attempt came to nothing, or why nothing ever will'),
  claimed_at: instant,
  changed_at: instant.describe('When the newest thing happened to it'),
  valid_until: instant.describe('When its authorization ends'),
  next_step: z.string(),
})
export type PaymentAnswer = z.infer<typeof paymentAnswerSchema>

/** A page of payments, newest first. */
export const paymentsAnswerSchema = z.object({
  payments: z.array(paymentAnswerSchema),
  next: z.uuid().nullable().describe('`after` of the next page; null at the end'),
})
export type PaymentsAnswer = z.infer<typeof paymentsAnswerSchema>
