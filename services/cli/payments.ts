import { z } from 'zod'
import { addressSchema, bytes32Schema, USDC_TEXT } from '../../contracts/chain.ts'
import { ServiceError } from '../../contracts/errors.ts'
import {
  type PayerAnswer,
  type PaymentAnswer,
  payerAnswerSchema,
  paymentAnswerSchema,
  paymentsAnswerSchema,
} from '../../contracts/payment-answers.ts'
import { PAYMENT_STATES } from '../../contracts/service-block.ts'
import { type Command, type CommandInput, defineCommand, type FlagDefinition } from './command.ts'
import { switchFlag } from './common-flags.ts'
import { OPERATOR_FLAGS, OPERATOR_NOTE, openOperatorRequests, requireId } from './operator-requests.ts'

const PAYMENT_ID = '019abcde-7c00-7001-8000-00000000000a'
const PAYER = '0x1111111111111111111111111111111111111111'
const TRANSACTION = `0x${'ab'.repeat(32)}`

const listCommand = defineCommand({
  name: 'payments list',
  summary: 'Writes payments, newest first, one JSON object a line.',
  notes: [OPERATOR_NOTE],
  operands: [],
  flags: {
    state: {
      schema: z.enum(PAYMENT_STATES).optional(),
      help: `Only those in this state: ${PAYMENT_STATES.join(', ')}.`,
      example: 'uncollectable',
    },
    payer: { schema: addressSchema.optional(), help: 'Only those of this address.', example: PAYER },
    ...OPERATOR_FLAGS,
  },
  examples: ['signal payments list', 'signal payments list --state uncollectable'],
  async run(input) {
    const { state, payer } = input.flags
    const requests = await openOperatorRequests(input)
    const filter = { ...(state !== undefined && { state }), ...(payer !== undefined && { payer }) }
    for await (const page of requests.pages('/operator/payments', filter, paymentsAnswerSchema))
      for (const payment of page.payments) input.stdout.write(`${JSON.stringify(payment)}\n`)
    return undefined
  },
})

const showCommand = defineCommand({
  name: 'payments show',
  summary: 'Shows a payment: what it was for, who paid, and where it stands.',
  notes: [OPERATOR_NOTE],
  operands: ['payment_id'],
  flags: { json: switchFlag('Writes the payment as JSON.'), ...OPERATOR_FLAGS },
  examples: [`signal payments show ${PAYMENT_ID}`],
  async run(input) {
    const id = requireId('payment_id', input.operands[0])
    const requests = await openOperatorRequests(input)
    const payment = await requests.get(`/operator/payments/${id}`, {}, paymentAnswerSchema)
    input.stdout.write(input.flags.json ? `${JSON.stringify(payment)}\n` : linesOf(payment))
    return undefined
  },
})

const reasonFlag = {
  schema: z.string().trim().min(1).max(200),
  help: 'Why; it is recorded.',
  example: 'never paid for 40 calls',
} satisfies FlagDefinition

const refundCommand = defineCommand({
  name: 'payments refund',
  summary: 'Records that money of a payment was sent back.',
  notes: [
    'It sends nothing: send the USDC from your own wallet first, and give the hash of that transaction. Told twice, it is recorded once.',
    OPERATOR_NOTE,
  ],
  operands: ['payment_id'],
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
    json: switchFlag('Writes the payment as JSON.'),
    ...OPERATOR_FLAGS,
  },
  examples: [`signal payments refund ${PAYMENT_ID} --transaction ${TRANSACTION} --usdc 0.02 --reason outage`],
  async run(input) {
    const { transaction, usdc, reason, json } = input.flags
    const id = requireId('payment_id', input.operands[0])
    const requests = await openOperatorRequests(input)
    const body = { transaction, usdc, reason }
    const payment = await requests.post(`/operator/payments/${id}/refund`, body, paymentAnswerSchema)
    input.stdout.write(json ? `${JSON.stringify(payment)}\n` : linesOf(payment))
    return undefined
  },
})

const trustFlags = { reason: reasonFlag, ...OPERATOR_FLAGS } as const

const blockCommand = defineCommand({
  name: 'payments block',
  summary: 'Takes no payments of an address until it is unblocked.',
  notes: ['What was served already is settled as before.', OPERATOR_NOTE],
  operands: ['payer'],
  flags: trustFlags,
  examples: [`signal payments block ${PAYER} --reason abuse`],
  async run(input) {
    const { payer } = await changeTrust(input, 'block')
    input.stderr.write(`payments of ${payer} are not taken any more\n`)
    return undefined
  },
})

const unblockCommand = defineCommand({
  name: 'payments unblock',
  summary: 'Takes payments of an address again, and forgets what it owes.',
  notes: [OPERATOR_NOTE],
  operands: ['payer'],
  flags: trustFlags,
  examples: [`signal payments unblock ${PAYER} --reason settled-by-mail`],
  async run(input) {
    const { payer } = await changeTrust(input, 'unblock')
    input.stderr.write(`payments of ${payer} are taken again\n`)
    return undefined
  },
})

async function changeTrust(
  input: CommandInput<typeof trustFlags>,
  what: 'block' | 'unblock',
): Promise<PayerAnswer> {
  const payer = requireAddress(input.operands[0])
  const requests = await openOperatorRequests(input)
  const { reason } = input.flags
  return requests.post(`/operator/payers/${payer}/${what}`, { reason }, payerAnswerSchema)
}

/** @throws ServiceError `config_invalid` */
function requireAddress(text: string | undefined): string {
  const address = addressSchema.safeParse(text)
  if (address.success) return address.data
  throw new ServiceError('config_invalid', {
    message: `payer is ${JSON.stringify(text ?? '')}, which is no address. For example: ${PAYER}`,
  })
}

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
    ...(payment.refund === null
      ? []
      : [
          `returned  ${payment.refund.amount_usdc} USDC as a ${payment.refund.as}, ${payment.refund.state}: ${payment.refund.why ?? payment.refund.cause}`,
        ]),
  ]
  return `${lines.join('\n')}\n`
}

export const paymentCommands: readonly Command[] = [
  listCommand,
  showCommand,
  refundCommand,
  blockCommand,
  unblockCommand,
]
