import { z } from 'zod'
import { exactInstantParameter } from '../../../contracts/answers/parameters.ts'
import { PAYMENT_STATES } from '../../../contracts/answers/service-block.ts'
import { addressSchema, bytes32Schema, USDC_TEXT } from '../../../contracts/domain/chain.ts'
import { tierSchema } from '../../../contracts/domain/plans.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { FlagDefinitions } from '../../runtime/config/read-flags.ts'
import { type Command, type CommandInput, defineCommand } from '../kit/command.ts'
import { switchFlag } from '../kit/common-flags.ts'
import { cellOf, createAnswerWriter } from '../kit/output.ts'
import { findService, SERVICE_FLAGS } from '../kit/service.ts'

/** A command that sends requests of the operator to a running service. */
interface OperatorCommand extends Pick<Command, 'name' | 'summary' | 'notes' | 'examples'> {
  /** Method and path, with `{id}` for the argument. */
  readonly request: string
  /** Name of the argument, an id. */
  readonly operand?: string
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

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const ID = '019abcde-7c00-7001-8000-00000000000a'
const PAYER = '0x1111111111111111111111111111111111111111'
const TRANSACTION = `0x${'ab'.repeat(32)}`
const NOTE =
  'It asks the service that runs on the data folder, through the socket that only its owner can open, or the one at --server.'

const account = { schema: z.uuid().toLowerCase(), help: 'Id of an account.', example: ACCOUNT }
const plan = (schema: z.ZodType) => ({
  schema,
  help: 'Plan to begin: starter, pro, or free.',
  example: 'pro',
})
/** A text that says why, and is recorded. */
const reason = {
  schema: z.string().trim().min(1).max(120).default('no reason is given'),
  help: 'Why; the owner is shown it. Default: no reason is given.',
  example: 'complaints of the receiver',
}

const TABLE: readonly OperatorCommand[] = [
  {
    name: 'keys create',
    summary: 'Makes an API key and writes it to standard output, where it is seen once.',
    notes: [
      'Without --account an account is opened: for the address of --email, whose owner can sign in to it, or without one. With --tier a plan of 30 days begins; `free` begins none.',
    ],
    request: 'POST /operator/keys',
    flags: {
      tier: plan(tierSchema.optional()),
      email: {
        schema: z.string().max(LIMITS.emailCharacters).optional(),
        help: 'Address of the account.',
        example: 'ada@example.com',
      },
      account: { ...account, schema: account.schema.optional() },
      label: {
        schema: z.string().max(LIMITS.keyLabelCharacters).default('operator'),
        help: 'What to call the key. Default: operator.',
        example: 'my bot',
      },
    },
    remark: 'key {key_id} of account {account_id}, tier {tier}',
    only: 'key',
    examples: ['signal keys create --tier starter', 'signal keys create --tier pro --email ada@example.com'],
  },
  {
    name: 'keys list',
    summary: 'Writes the keys of an account that apply, without the keys themselves.',
    request: 'GET /operator/keys',
    flags: { account },
    columns: ['key_id', 'hint', 'label', 'created_at'],
    examples: [`signal keys list --account ${ACCOUNT}`],
  },
  {
    name: 'keys revoke',
    summary: 'Revokes a key.',
    notes: ['The id is that of `signal keys list`, not the key.'],
    operand: 'key_id',
    request: 'DELETE /operator/keys/{id}',
    remark: 'key {id} is revoked',
    examples: [`signal keys revoke ${ID}`],
  },
  {
    name: 'keys revoke-older',
    summary: 'Revokes every key that was issued before an instant, and ends older sessions and programs.',
    notes: ['This ends what a restore brought back to life. Each line counts what was ended.'],
    request: 'POST /operator/keys/revoke',
    flags: {
      'issued-before': {
        schema: exactInstantParameter,
        help: 'Revokes what was issued before then; ISO 8601.',
        example: '2026-11-22T12:00:00Z',
      },
    },
    examples: ['signal keys revoke-older --issued-before 2026-11-22T12:00:00Z'],
  },
  {
    name: 'accounts list',
    summary: 'Writes the accounts that are open.',
    request: 'GET /operator/accounts',
    columns: ['account_id', 'email', 'tier', 'opened_at'],
    examples: ['signal accounts list'],
  },
  {
    name: 'accounts show',
    summary: 'Shows an account: its address, its plan, its keys and the calls left.',
    operand: 'account_id',
    request: 'GET /operator/accounts/{id}',
    examples: [`signal accounts show ${ACCOUNT}`],
  },
  {
    name: 'accounts grant',
    summary: 'Gives an account a plan.',
    notes: [
      'A plan lasts 30 days. It begins at once and takes the place of one of another tier; one of the same tier begins after it. `free` ends all plans.',
    ],
    operand: 'account_id',
    request: 'POST /operator/accounts/{id}/grant',
    flags: { tier: plan(tierSchema) },
    examples: [`signal accounts grant ${ACCOUNT} --tier pro`],
  },
  {
    name: 'accounts erase',
    summary: 'Erases an account: revokes its keys, ends its plans and forgets its e-mail address, for good.',
    operand: 'account_id',
    request: 'DELETE /operator/accounts/{id}',
    confirm: 'Erasing an account cannot be undone.',
    remark: 'account {id} is erased',
    examples: [`signal accounts erase ${ACCOUNT} --yes`],
  },
  {
    name: 'webhooks list',
    summary: 'Writes the subscriptions of all accounts, without their addresses.',
    request: 'GET /operator/webhooks',
    columns: ['id', 'account_id', 'origin', 'state', 'state_since'],
    examples: ['signal webhooks list'],
  },
  {
    name: 'webhooks show',
    summary: 'Shows a subscription: its account, its state and its cursor.',
    operand: 'subscription_id',
    request: 'GET /operator/webhooks/{id}',
    examples: [`signal webhooks show ${ACCOUNT}`],
  },
  {
    name: 'webhooks stop',
    summary: 'Stops a subscription. Only `webhooks allow` lifts it, and nothing is lost.',
    operand: 'subscription_id',
    request: 'POST /operator/webhooks/{id}/stop',
    flags: { reason },
    examples: [`signal webhooks stop ${ACCOUNT} --reason complaints`],
  },
  {
    name: 'webhooks allow',
    summary: 'Lifts a stop: the subscription is then paused, and its owner may resume it.',
    operand: 'subscription_id',
    request: 'POST /operator/webhooks/{id}/allow',
    flags: { reason },
    examples: [`signal webhooks allow ${ACCOUNT} --reason cleared`],
  },
  {
    name: 'payments list',
    summary: 'Writes payments, newest first.',
    request: 'GET /operator/payments',
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
  },
  {
    name: 'payments show',
    summary: 'Shows a payment: its product, its payer and its state.',
    operand: 'payment_id',
    request: 'GET /operator/payments/{id}',
    examples: [`signal payments show ${ID}`],
  },
  {
    name: 'payments refund',
    summary: 'Records that money of a payment was sent back.',
    notes: [
      'It sends nothing: send the USDC from your own wallet first, and give the hash of that transaction. Sent twice, it is recorded once.',
    ],
    operand: 'payment_id',
    request: 'POST /operator/payments/{id}/refund',
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
    const request = objectSchema.safeParse(jsonOf(text))
    if (!request.success)
      throw new ServiceError('config_invalid', {
        message: `the request is ${JSON.stringify(text)}, which is no JSON object. For example: '{"coin": "BTC"}'`,
      })
    const service = await findService(input)
    const answer = await service.post(`/operator/tools/${encodeURIComponent(tool)}`, request.data)
    input.stdout.write(`${JSON.stringify(answer)}\n`)
  },
})

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const commands: readonly Command[] = [
  askCommand,
  ...TABLE.map((row) =>
    defineCommand({
      ...row,
      notes: [...(row.notes ?? []), NOTE],
      operands: row.operand === undefined ? [] : [row.operand],
      flags: {
        ...row.flags,
        ...(row.confirm !== undefined && { yes: switchFlag('Confirms it.') }),
        ...FLAGS,
      },
      run: (input) => runOperatorCommand(row, input),
    }),
  ),
]

async function runOperatorCommand(row: OperatorCommand, input: CommandInput<typeof FLAGS>): Promise<void> {
  const { flags, stdout, stderr } = input
  const id = row.operand === undefined ? '' : requireId(row.operand, input.operands[0])
  if (row.confirm !== undefined && !('yes' in flags && flags.yes === true))
    throw new ServiceError('config_invalid', { message: `${row.confirm} Confirm with --yes` })
  const service = await findService(input)
  const [method, path = ''] = row.request.replace('{id}', id).split(' ')
  const fields = fieldsOf(row, flags)
  const writer = createAnswerWriter(stdout, row.columns ?? [], flags.json)
  const remark = (answer: JsonObject): void => {
    if (row.remark === undefined) return
    stderr.write(`${row.remark.replaceAll(/\{(\w+)\}/g, (_, name: string) => cellOf(answer[name]))}\n`)
  }
  if (method === 'DELETE') {
    await service.delete(path)
    remark({ id })
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
    Object.keys(flags).flatMap((flag) => {
      const value = (given as Readonly<Record<string, unknown>>)[flag]
      const name = flag === 'account' ? 'account_id' : flag.replaceAll('-', '_')
      return value === undefined ? [] : [[name, cellOf(value)]]
    }),
  )

/** An argument that is an id. @throws ServiceError `config_invalid` */
function requireId(what: string, text: string | undefined): string {
  const id = z.uuid().safeParse(text?.toLowerCase())
  if (id.success) return id.data
  throw new ServiceError('config_invalid', {
    message: `${what} is ${JSON.stringify(text ?? '')}, which is no UUID. For example: ${ACCOUNT}`,
  })
}
