import { z } from 'zod'
import {
  accountAnswerSchema,
  accountsAnswerSchema,
  endedAnswerSchema,
  keysAnswerSchema,
  signInAnswerSchema,
} from '../../../contracts/account-answers.ts'
import { addressSchema, bytes32Schema, USDC_TEXT } from '../../../contracts/chain.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { exactInstantParameter } from '../../../contracts/instant-parameter.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { paymentAnswerSchema, paymentsAnswerSchema } from '../../../contracts/payment-answers.ts'
import { tierSchema } from '../../../contracts/plans.ts'
import { PAYMENT_STATES } from '../../../contracts/service-block.ts'
import {
  operatorSubscriptionSchema,
  operatorSubscriptionsSchema,
} from '../../../contracts/webhook-answers.ts'
import type { Command } from '../kit/command.ts'
import { switchFlag } from '../kit/common-flags.ts'
import { operatorCommand, requireId } from '../kit/operator-command.ts'
import type { Service } from '../kit/service.ts'

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const ID = '019abcde-7c00-7001-8000-00000000000a'
const PAYER = '0x1111111111111111111111111111111111111111'
const TRANSACTION = `0x${'ab'.repeat(32)}`

/** A text that says why, and is recorded; none where one need not be given. */
const whyFlag = (about: string, example: string, most: number) => ({
  schema: z.string().trim().min(1).max(most).default('no reason is given'),
  help: `Why; ${about} Default: no reason is given.`,
  example,
})
const accountFlag = {
  schema: z.uuid().toLowerCase().optional(),
  help: 'Id of an account.',
  example: ACCOUNT,
}

/** Pages of a list, each as its rows. */
async function* listed<Page extends { readonly next: string | null }>(
  pages: AsyncIterable<Page>,
  rows: (page: Page) => readonly object[],
): AsyncGenerator<readonly object[], void, void> {
  for await (const page of pages) yield rows(page)
}

const keyCommands = [
  operatorCommand({
    name: 'keys create',
    summary: 'Makes an API key and writes it to standard output, where it is seen once.',
    notes: [
      'Without --account an account is opened: for the address of --email, whose owner can sign in to it, or without one. With --tier a plan of 30 days begins; `free` begins none.',
    ],
    flags: {
      tier: { schema: tierSchema.optional(), help: 'Plan to begin: starter or pro.', example: 'starter' },
      email: {
        schema: z.string().max(LIMITS.emailCharacters).optional(),
        help: 'Address of the account.',
        example: 'ada@example.com',
      },
      account: accountFlag,
      label: {
        schema: z.string().max(LIMITS.keyLabelCharacters).default('operator'),
        help: 'What to call the key. Default: operator.',
        example: 'my bot',
      },
    },
    examples: ['signal keys create --tier starter', 'signal keys create --tier pro --email ada@example.com'],
    async act({ requests, flags: { tier, email, account, label }, stderr }) {
      const body = {
        label,
        ...(tier && { tier }),
        ...(email && { email }),
        ...(account && { account_id: account }),
      }
      const made = await requests.post('/operator/keys', body, signInAnswerSchema)
      stderr.write(`key ${made.key_id} of account ${made.account_id}, tier ${made.tier}\n`)
      return made
    },
    text: ({ key }: { key: string }) => `${key}\n`,
  }),
  operatorCommand({
    name: 'keys list',
    summary: 'Writes the keys of an account that apply, without the keys themselves.',
    flags: { account: { ...accountFlag, schema: z.uuid().toLowerCase() } },
    columns: ['key_id', 'hint', 'label', 'created_at'],
    examples: [`signal keys list --account ${ACCOUNT}`],
    async *act({ requests, flags }) {
      yield (await requests.get('/operator/keys', { account_id: flags.account }, keysAnswerSchema)).keys
    },
  }),
  operatorCommand({
    name: 'keys revoke',
    summary: 'Revokes a key, or everything that was issued before an instant.',
    notes: [
      'The id is that of `signal keys list`, not the key. With --issued-before instead, all keys of all accounts that were issued before then are revoked, and older sessions and programs end: what a restore brought back to life.',
    ],
    operand: 'key_id?',
    read: (_name, text) => (text === '' ? '' : requireId('key_id', text)),
    flags: {
      'issued-before': {
        schema: exactInstantParameter.optional(),
        help: 'Revokes what was issued before then; ISO 8601.',
        example: '2026-11-22T12:00:00Z',
      },
    },
    examples: [`signal keys revoke ${ID}`, 'signal keys revoke --issued-before 2026-11-22T12:00:00Z'],
    check(flags, id) {
      if ((id === '') !== (flags['issued-before'] === undefined)) return
      throw new ServiceError('config_invalid', {
        message: 'keys revoke takes the id of a key, or --issued-before: give one of the two',
      })
    },
    async act({ requests, operand: id, flags, stderr }) {
      const before = flags['issued-before']
      if (before === undefined) await requests.delete(`/operator/keys/${id}`)
      stderr.write(before === undefined ? `key ${id} is revoked\n` : await endBefore(requests, before))
    },
  }),
]

/** Ends what is older, page by page; each page is durable before the next is asked for. */
async function endBefore(requests: Service, issued_before: string): Promise<string> {
  const ended = { keys: 0, sessions: 0, programs: 0 }
  for (let after: string | null | undefined; after !== null; ) {
    const body = { issued_before, ...(after && { after }) }
    const page = await requests.post('/operator/keys/revoke', body, endedAnswerSchema)
    for (const kind of ['keys', 'sessions', 'programs'] as const) ended[kind] += page[kind]
    after = page.next
  }
  return `${ended.keys} keys are revoked, ${ended.sessions} sessions and ${ended.programs} programs are ended\n`
}

const accountCommands = [
  operatorCommand({
    name: 'accounts list',
    summary: 'Writes the accounts that are open.',
    columns: ['account_id', 'email', 'tier', 'opened_at'],
    examples: ['signal accounts list'],
    act: ({ requests }) =>
      listed(requests.pages('/operator/accounts', {}, accountsAnswerSchema), ({ accounts }) => accounts),
  }),
  operatorCommand({
    name: 'accounts show',
    summary: 'Shows an account: its address, its plan, its keys and the calls left.',
    operand: 'account_id',
    examples: [`signal accounts show ${ACCOUNT}`],
    act: ({ requests, operand: id }) => requests.get(`/operator/accounts/${id}`, {}, accountAnswerSchema),
  }),
  operatorCommand({
    name: 'accounts grant',
    summary: 'Gives an account a plan.',
    notes: [
      'A plan lasts 30 days. It begins at once and takes the place of one of another tier; one of the same tier begins after it. `free` ends all plans.',
    ],
    operand: 'account_id',
    flags: { tier: { schema: tierSchema, help: 'Plan to begin: starter, pro, or free.', example: 'pro' } },
    examples: [`signal accounts grant ${ACCOUNT} --tier pro`],
    act: ({ requests, flags: { tier }, operand: id }) =>
      requests.post(`/operator/accounts/${id}/grant`, { tier }, accountAnswerSchema),
  }),
  operatorCommand({
    name: 'accounts erase',
    summary: 'Erases an account: revokes its keys, ends its plans and forgets its e-mail address, for good.',
    notes: ['It cannot be undone, so it has to be confirmed with --yes.'],
    operand: 'account_id',
    flags: { yes: switchFlag('Yes, erase it.') },
    examples: [`signal accounts erase ${ACCOUNT} --yes`],
    check({ yes }, id) {
      if (yes) return
      throw new ServiceError('config_invalid', {
        message: `Erasing account ${id} cannot be undone. Confirm with --yes`,
      })
    },
    async act({ requests, operand: id, stderr }) {
      await requests.delete(`/operator/accounts/${id}`)
      stderr.write(`account ${id} is erased\n`)
    },
  }),
]

const webhookCommands = [
  operatorCommand({
    name: 'webhooks list',
    summary: 'Writes the subscriptions of all accounts, without their addresses.',
    columns: ['id', 'account_id', 'origin', 'state', 'state_since'],
    examples: ['signal webhooks list'],
    act: ({ requests }) =>
      listed(
        requests.pages('/operator/webhooks', {}, operatorSubscriptionsSchema),
        ({ webhooks }) => webhooks,
      ),
  }),
  operatorCommand({
    name: 'webhooks show',
    summary: 'Shows a subscription: its account, its state and its cursor.',
    operand: 'subscription_id',
    examples: [`signal webhooks show ${ACCOUNT}`],
    act: ({ requests, operand: id }) =>
      requests.get(`/operator/webhooks/${id}`, {}, operatorSubscriptionSchema),
  }),
  ...(
    [
      ['stop', 'Stops a subscription. Only `webhooks allow` lifts it, and nothing is lost.', 'complaints'],
      ['allow', 'Lifts a stop: the subscription is then paused, and its owner may resume it.', 'cleared'],
    ] as const
  ).map(([what, summary, because]) =>
    operatorCommand({
      name: `webhooks ${what}`,
      summary,
      operand: 'subscription_id',
      flags: { reason: whyFlag('the owner is shown it.', 'complaints of the receiver', 120) },
      examples: [`signal webhooks ${what} ${ACCOUNT} --reason ${because}`],
      act: ({ requests, flags, operand: id }) =>
        requests.post(
          `/operator/webhooks/${id}/${what}`,
          { reason: flags.reason },
          operatorSubscriptionSchema,
        ),
    }),
  ),
]

const paymentCommands = [
  operatorCommand({
    name: 'payments list',
    summary: 'Writes payments, newest first.',
    flags: {
      state: {
        schema: z.enum(PAYMENT_STATES).optional(),
        help: `Only those in this state: ${PAYMENT_STATES.join(', ')}.`,
        example: 'uncollectable',
      },
      payer: { schema: addressSchema.optional(), help: 'Only those of this address.', example: PAYER },
    },
    columns: ['id', 'state', 'product', 'amount_usdc', 'payer', 'claimed_at'],
    examples: ['signal payments list', 'signal payments list --state uncollectable'],
    act({ requests, flags: { state, payer } }) {
      const filter = { ...(state !== undefined && { state }), ...(payer !== undefined && { payer }) }
      return listed(
        requests.pages('/operator/payments', filter, paymentsAnswerSchema),
        ({ payments }) => payments,
      )
    },
  }),
  operatorCommand({
    name: 'payments show',
    summary: 'Shows a payment: its product, its payer and its state.',
    operand: 'payment_id',
    examples: [`signal payments show ${ID}`],
    act: ({ requests, operand: id }) => requests.get(`/operator/payments/${id}`, {}, paymentAnswerSchema),
  }),
  operatorCommand({
    name: 'payments refund',
    summary: 'Records that money of a payment was sent back.',
    notes: [
      'It sends nothing: send the USDC from your own wallet first, and give the hash of that transaction. Sent twice, it is recorded once.',
    ],
    operand: 'payment_id',
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
      reason: {
        schema: z.string().trim().min(1).max(200),
        help: 'Why; it is recorded.',
        example: 'never paid for 40 calls',
      },
    },
    examples: [`signal payments refund ${ID} --transaction ${TRANSACTION} --usdc 0.02 --reason outage`],
    act: ({ requests, flags: { transaction, usdc, reason: why }, operand: id }) =>
      requests.post(
        `/operator/payments/${id}/refund`,
        { transaction, usdc, reason: why },
        paymentAnswerSchema,
      ),
  }),
]

export const operatorCommands: Readonly<Record<string, readonly Command[]>> = {
  keys: keyCommands,
  accounts: accountCommands,
  webhooks: webhookCommands,
  payments: paymentCommands,
}
