import { z } from 'zod'
import { addressSchema, bytes32Schema, USDC_TEXT } from '../../../contracts/chain.ts'
import {
  type PaymentAnswer,
  paymentAnswerSchema,
  paymentsAnswerSchema,
} from '../../../contracts/payment-answers.ts'
import { PAYMENT_STATES } from '../../../contracts/service-block.ts'
import type { FlagDefinition } from '../../runtime/config/read-flags.ts'
import type { Command } from '../kit/command.ts'
import { operatorCommand, requireId, rowsOf } from '../kit/operator-command.ts'

const PAYMENT_ID = '019abcde-7c00-7001-8000-00000000000a'
const PAYER = '0x1111111111111111111111111111111111111111'
const TRANSACTION = `0x${'ab'.repeat(32)}`

const listCommand = operatorCommand({
  name: 'payments list',
  summary: 'Writes payments, newest first, one JSON object a line.',
  flags: {
    state: {
      schema: z.enum(PAYMENT_STATES).optional(),
      help: `Only those in this state: ${PAYMENT_STATES.join(', ')}.`,
      example: 'uncollectable',
    },
    payer: { schema: addressSchema.optional(), help: 'Only those of this address.', example: PAYER },
  },
  examples: ['signal payments list', 'signal payments list --state uncollectable'],
  act({ requests, flags: { state, payer } }) {
    const filter = { ...(state !== undefined && { state }), ...(payer !== undefined && { payer }) }
    return rowsOf(requests, '/operator/payments', paymentsAnswerSchema, ({ payments }) => payments, filter)
  },
})

const operand = { name: 'payment_id', read: requireId }

const showCommand = operatorCommand({
  name: 'payments show',
  summary: 'Shows a payment: its product, its payer and its state.',
  operand,
  examples: [`signal payments show ${PAYMENT_ID}`],
  act: ({ requests, operand: id }) => requests.get(`/operator/payments/${id}`, {}, paymentAnswerSchema),
  words: linesOf,
})

const reasonFlag = {
  schema: z.string().trim().min(1).max(200),
  help: 'Why; it is recorded.',
  example: 'never paid for 40 calls',
} satisfies FlagDefinition

const refundCommand = operatorCommand({
  name: 'payments refund',
  summary: 'Records that money of a payment was sent back.',
  notes: [
    'It sends nothing: send the USDC from your own wallet first, and give the hash of that transaction. Sent twice, it is recorded once.',
  ],
  operand,
  flags: {
    transaction: {
      schema: bytes32Schema,
      help: 'Hash of the transaction that sent it back.',
      example: TRANSACTION,
    },
    usdc: {
      schema: z.string().regex(USDC_TEXT, 'must be an amount with at most six decimals'),
      help: 'How much was sent back, in USDC.',
      example: '0.02',
    },
    reason: reasonFlag,
  },
  examples: [`signal payments refund ${PAYMENT_ID} --transaction ${TRANSACTION} --usdc 0.02 --reason outage`],
  act: ({ requests, flags: { transaction, usdc, reason }, operand: id }) =>
    requests.post(`/operator/payments/${id}/refund`, { transaction, usdc, reason }, paymentAnswerSchema),
  words: linesOf,
})

function linesOf(payment: PaymentAnswer): string {
  const lines = [
    `payment   ${payment.id}`,
    `state     ${payment.state}${payment.reason === null ? '' : ` (${payment.reason})`}`,
    `for       ${payment.product}`,
    `amount    ${payment.amount_usdc} USDC, ${payment.refunded_usdc} sent back`,
    `payer     ${payment.payer}, ${payment.rail} rail`,
    `served    ${payment.is_served_first ? 'before it was settled' : 'once it was settled'}`,
    `claimed   ${payment.claimed_at}, valid until ${payment.valid_until}`,
    `changed   ${payment.changed_at}`,
    ...(payment.transaction === null ? [] : [`sent in   ${payment.transaction}`]),
    ...(payment.block === null ? [] : [`block     ${payment.block}`]),
  ]
  return `${lines.join('\n')}\n`
}

export const paymentCommands: readonly Command[] = [listCommand, showCommand, refundCommand]
