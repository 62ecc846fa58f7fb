import { z } from 'zod'
import { exactInstantParameter } from '../../../contracts/answers/parameters.ts'
import { PAYMENT_STATES } from '../../../contracts/answers/service-block.ts'
import { addressSchema, bytes32Schema, USDC_TEXT } from '../../../contracts/domain/chain.ts'
import { tierSchema } from '../../../contracts/domain/plans.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { FlagDefinitions } from '../../runtime/config/read-flags.ts'
import {
  type Command,
  type CommandInput,
  defineCommand,
  flag,
  requireId,
  switchFlag,
} from '../kit/command.ts'
import { cellOf, createAnswerWriter } from '../kit/output.ts'
import { findService, SERVICE_FLAGS } from '../kit/service.ts'

/** A command that sends requests of the operator to a running service. */
interface OperatorCommand extends Pick<Command, 'name' | 'summary' | 'notes'> {
  /** Method and path; `{…}` in the path is the argument, an id. */
  readonly request: string
  /** Fields of the query or the body, by the names of their flags. */
  readonly flags?: FlagDefinitions
  /** Fields that the table of a list shows. */
  readonly columns?: readonly string[]
  /** Said on standard error after the request; `{…}` stands for the argument or a field of the answer. */
  readonly remark?: string
  /** The only field of the answer that is written, unless `--json` asks for all. */
  readonly only?: string
  /** Why the command has to be confirmed with `--yes`. */
  readonly confirm?: string
}

const ID = '019abcde-7c00-7001-8000-00000000000a'
const NOTE =
  'It asks the service that runs on the data folder, through the socket that only its owner can open, or the one at --server.'

const accountId = z.uuid().toLowerCase()
const ACCOUNT_HELP = 'Id of an account.'
const TIER_HELP = 'Plan to begin: starter, pro, or free.'
const reason = flag(
  z.string().trim().min(1).max(120).default('no reason is given'),
  'Why; the owner is shown it. Default: no reason is given.',
  'complaints of the receiver',
)

const TABLE: readonly OperatorCommand[] = [
  {
    name: 'keys create',
    summary: 'Makes an API key and writes it to standard output, where it is seen once.',
    notes: [
      'Without --account an account is opened: for the address of --email, whose owner can sign in to it, or without one. With --tier a plan of 30 days begins; `free` begins none.',
    ],
    request: 'POST /operator/keys',
    flags: {
      tier: flag(tierSchema.optional(), TIER_HELP, 'pro'),
      email: flag(
        z.string().max(LIMITS.emailCharacters).optional(),
        'Address of the account.',
        'ada@example.com',
      ),
      account: flag(accountId.optional(), ACCOUNT_HELP, ID),
      label: flag(
        z.string().max(LIMITS.keyLabelCharacters).default('operator'),
        'Name of the key. Default: operator.',
        'my bot',
      ),
    },
    remark: 'key {key_id} of account {account_id}, tier {tier}',
    only: 'key',
  },
  {
    name: 'keys list',
    summary: 'Writes the keys of an account that apply, without the keys themselves.',
    request: 'GET /operator/keys',
    flags: { account: flag(accountId, ACCOUNT_HELP, ID) },
    columns: ['key_id', 'hint', 'label', 'created_at'],
  },
  {
    name: 'keys revoke',
    summary: 'Revokes a key, by the id that `signal keys list` shows.',
    request: 'DELETE /operator/keys/{key_id}',
    remark: 'key {key_id} is revoked',
  },
  {
    name: 'keys revoke-older',
    summary: 'Revokes every key that was issued before an instant, and ends older sessions and programs.',
    notes: ['This ends what a restore brought back to life. Each line counts what was ended.'],
    request: 'POST /operator/keys/revoke',
    flags: {
      'issued-before': flag(
        exactInstantParameter,
        'Revokes what was issued before then; ISO 8601.',
        '2026-11-22T12:00:00Z',
      ),
    },
  },
  {
    name: 'accounts list',
    summary: 'Writes the accounts that are open.',
    request: 'GET /operator/accounts',
    columns: ['account_id', 'email', 'tier', 'opened_at'],
  },
  {
    name: 'accounts show',
    summary: 'Shows an account: its address, its plan, its keys and the calls left.',
    request: 'GET /operator/accounts/{account_id}',
  },
  {
    name: 'accounts grant',
    summary: 'Gives an account a plan.',
    notes: [
      'A plan lasts 30 days. It begins at once and takes the place of one of another tier; one of the same tier begins after it. `free` ends all plans.',
    ],
    request: 'POST /operator/accounts/{account_id}/grant',
    flags: { tier: flag(tierSchema, TIER_HELP, 'pro') },
  },
  {
    name: 'accounts erase',
    summary: 'Erases an account: revokes its keys, ends its plans and forgets its e-mail address, for good.',
    request: 'DELETE /operator/accounts/{account_id}',
    confirm: 'Erasing an account cannot be undone.',
    remark: 'account {account_id} is erased',
  },
  {
    name: 'webhooks list',
    summary: 'Writes the subscriptions of all accounts, without their addresses.',
    request: 'GET /operator/webhooks',
    columns: ['id', 'account_id', 'origin', 'state', 'state_since'],
  },
  {
    name: 'webhooks show',
    summary: 'Shows a subscription: its account, its state and its cursor.',
    request: 'GET /operator/webhooks/{subscription_id}',
  },
  {
    name: 'webhooks stop',
    summary: 'Stops a subscription. Only `webhooks allow` lifts it, and nothing is lost.',
    request: 'POST /operator/webhooks/{subscription_id}/stop',
    flags: { reason },
  },
  {
    name: 'webhooks allow',
    summary: 'Lifts a stop: the subscription is then paused, and its owner may resume it.',
    request: 'POST /operator/webhooks/{subscription_id}/allow',
    flags: { reason },
  },
  {
    name: 'payments list',
    summary: 'Writes payments, newest first.',
    request: 'GET /operator/payments',
    flags: {
      state: flag(
        z.enum(PAYMENT_STATES).optional(),
        `Only those in this state: ${PAYMENT_STATES.join(', ')}.`,
        'uncollectable',
      ),
      payer: flag(addressSchema.optional(), 'Only those of this address.', `0x${'11'.repeat(20)}`),
    },
    columns: ['id', 'state', 'product', 'amount_usdc', 'payer', 'claimed_at'],
  },
  {
    name: 'payments show',
    summary: 'Shows a payment: its product, its payer and its state.',
    request: 'GET /operator/payments/{payment_id}',
  },
  {
    name: 'payments refund',
    summary: 'Records that money of a payment was sent back.',
    notes: [
      'It sends nothing: send the USDC from your own wallet first, and give the hash of that transaction. Sent twice, it is recorded once.',
    ],
    request: 'POST /operator/payments/{payment_id}/refund',
    flags: {
      transaction: flag(bytes32Schema, 'Hash of the transaction that sent it back.', `0x${'ab'.repeat(32)}`),
      usdc: flag(
        z.string().regex(USDC_TEXT, 'must be an amount with at most six decimals'),
        'How much was sent back, in USDC.',
        '0.02',
      ),
      reason: flag(z.string().trim().min(1).max(200), 'Why; it is recorded.', 'outage'),
    },
  },
]

const FLAGS = { json: switchFlag('Writes JSON on a terminal too, one object a line.'), ...SERVICE_FLAGS }
const objectSchema = z.record(z.string(), z.json())

const askCommand = defineCommand({
  name: 'ask',
  summary: 'Asks a tool for the operator and writes its answer as JSON; nothing is counted.',
  notes: [NOTE],
  operands: ['tool', 'request'],
  flags: SERVICE_FLAGS,
  examples: [
    `signal ask get_trade_call '{"coin":"BTC","timeframe":"4h"}'`,
    `signal ask scan_funding_arb '{"limit":5}'`,
  ],
  async run(input) {
    const [tool = '', text = ''] = input.operands
    const request = requestIn(text)
    const service = await findService(input)
    const answer = await service.post(`/operator/tools/${encodeURIComponent(tool)}`, request)
    input.stdout.write(`${JSON.stringify(answer)}\n`)
  },
})

/** @throws ServiceError `config_invalid` for a text that holds no JSON object */
function requestIn(text: string): JsonObject {
  try {
    return objectSchema.parse(JSON.parse(text))
  } catch (cause) {
    const message = `the request is ${JSON.stringify(text)}, which is no JSON object. For example: '{"coin": "BTC"}'`
    throw new ServiceError('config_invalid', { message, cause })
  }
}

export const commands: readonly Command[] = [
  askCommand,
  ...TABLE.map((row) => {
    const own = { ...row.flags, ...(row.confirm !== undefined && { yes: switchFlag('Confirms it.') }) }
    const operands = /\{(\w+)\}/.exec(row.request)?.slice(1) ?? []
    const needed = Object.entries(own)
      .filter(([name, { schema }]) => name === 'yes' || !schema.safeParse(undefined).success)
      .map(([name, { example }]) => ` --${name} ${example}`.trimEnd())
    return defineCommand({
      ...row,
      notes: [...(row.notes ?? []), NOTE],
      operands,
      flags: { ...own, ...FLAGS },
      examples: [`signal ${row.name}${operands.map(() => ` ${ID}`).join('')}${needed.join('')}`],
      run: (input) => runOperatorCommand(row, operands[0], input),
    })
  }),
]

async function runOperatorCommand(
  row: OperatorCommand,
  operand: string | undefined,
  input: CommandInput<typeof FLAGS>,
): Promise<void> {
  const { flags, stdout, stderr } = input
  const id = operand === undefined ? '' : requireId(operand, input.operands[0])
  if (row.confirm !== undefined && !('yes' in flags && flags.yes === true))
    throw new ServiceError('config_invalid', { message: `${row.confirm} Confirm with --yes` })
  const service = await findService(input)
  const [method, path = ''] = row.request.replace(/\{\w+\}/, id).split(' ')
  const fields = fieldsOf(row, flags)
  const writer = createAnswerWriter(stdout, row.columns ?? [], flags.json)
  const remark = (answer: JsonObject): void => {
    if (row.remark === undefined) return
    stderr.write(`${row.remark.replaceAll(/\{(\w+)\}/g, (_, name: string) => cellOf(answer[name]))}\n`)
  }
  if (method === 'DELETE') {
    await service.delete(path)
    remark({ [operand ?? '']: id })
  } else if (method === 'GET' && row.columns !== undefined)
    for await (const page of service.pages(path, fields)) writer.rows(rowsOf(page))
  else if (method === 'GET') writer.one(await service.get(path, fields, objectSchema))
  // A change that has more to do names where it goes on; each part is durable before the next begins.
  else
    for (let next: unknown; next !== null; ) {
      const body = next === undefined ? fields : { ...fields, after: next }
      const answer = objectSchema.parse(await service.post(path, body))
      next = answer['next'] ?? null
      remark(answer)
      if (row.only === undefined || flags.json) writer.one(answer)
      else stdout.write(`${cellOf(answer[row.only])}\n`)
    }
}

/** The rows of a page: its only list. */
const rowsOf = (page: unknown): readonly object[] =>
  (Object.values(page as object).find((value) => Array.isArray(value)) ?? []) as readonly object[]

/** Own flags of a command as fields of the interface. */
const fieldsOf = ({ flags = {} }: OperatorCommand, given: object): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.keys(flags).flatMap((name) => {
      const value = (given as Readonly<Record<string, unknown>>)[name]
      const field = name === 'account' ? 'account_id' : name.replaceAll('-', '_')
      return value === undefined ? [] : [[field, cellOf(value)]]
    }),
  )
