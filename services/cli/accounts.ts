import { z } from 'zod'
import {
  type AccountAnswer,
  accountAnswerSchema,
  accountsAnswerSchema,
} from '../../contracts/account-answers.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { tierSchema } from '../../contracts/plans.ts'
import { type Command, defineCommand } from './command.ts'
import { switchFlag } from './common-flags.ts'
import { OPERATOR_FLAGS, OPERATOR_NOTE, openOperatorRequests, requireId } from './operator-requests.ts'

const listCommand = defineCommand({
  name: 'accounts list',
  summary: 'Writes the accounts that are open, one JSON object a line.',
  notes: [OPERATOR_NOTE],
  operands: [],
  flags: { ...OPERATOR_FLAGS },
  examples: ['signal accounts list'],
  async run(input) {
    const requests = await openOperatorRequests(input)
    for await (const page of requests.pages('/operator/accounts', {}, accountsAnswerSchema))
      for (const account of page.accounts) input.stdout.write(`${JSON.stringify(account)}\n`)
    return undefined
  },
})

const showCommand = defineCommand({
  name: 'accounts show',
  summary: 'Shows an account: its address, its plan, its keys and the calls left.',
  notes: [OPERATOR_NOTE],
  operands: ['account_id'],
  flags: { json: switchFlag('Writes the account as JSON.'), ...OPERATOR_FLAGS },
  examples: ['signal accounts show 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'],
  async run(input) {
    const id = requireId('account_id', input.operands[0])
    const requests = await openOperatorRequests(input)
    const account = await requests.get(`/operator/accounts/${id}`, {}, accountAnswerSchema)
    input.stdout.write(input.flags.json ? `${JSON.stringify(account)}\n` : linesOf(account))
    return undefined
  },
})

const grantCommand = defineCommand({
  name: 'accounts grant',
  summary: 'Gives an account a plan, or further calls in the window that runs.',
  notes: [
    'A plan lasts 30 days. It begins at once and takes the place of one of another tier; one of the same tier is put behind it. `free` ends what has not ended.',
    OPERATOR_NOTE,
  ],
  operands: ['account_id'],
  flags: {
    tier: { schema: tierSchema.optional(), help: 'Plan to begin: starter, pro, or free.', example: 'pro' },
    calls: {
      schema: z
        .string()
        .regex(/^\d{1,7}$/, 'must be a whole number')
        .transform(Number)
        .pipe(z.number().min(1).max(1_000_000))
        .optional(),
      help: 'Further calls, 1 to 1,000,000.',
      example: '500',
    },
    reason: {
      schema: z.string().min(1).max(200).optional(),
      help: 'Why; it is recorded.',
      example: 'an outage',
    },
    json: switchFlag('Writes the account as JSON.'),
    ...OPERATOR_FLAGS,
  },
  examples: [
    'signal accounts grant 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --tier pro',
    'signal accounts grant 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --calls 500 --reason outage',
  ],
  async run(input) {
    const { tier, calls, reason, json } = input.flags
    const id = requireId('account_id', input.operands[0])
    const isPlan = tier !== undefined && calls === undefined && reason === undefined
    const isCalls = tier === undefined && calls !== undefined && reason !== undefined
    if (!isPlan && !isCalls) {
      throw new ServiceError('config_invalid', {
        message:
          'Give --tier alone, or --calls together with --reason. For example: --calls 500 --reason outage',
      })
    }
    const requests = await openOperatorRequests(input)
    const body = tier === undefined ? { calls: calls ?? 0, reason: reason ?? '' } : { tier }
    const account = await requests.post(`/operator/accounts/${id}/grant`, body, accountAnswerSchema)
    input.stdout.write(json ? `${JSON.stringify(account)}\n` : linesOf(account))
    return undefined
  },
})

const eraseCommand = defineCommand({
  name: 'accounts erase',
  summary: 'Erases an account: revokes its keys, ends its plans and forgets its e-mail address, for good.',
  notes: ['It cannot be undone, so it has to be said with --yes.', OPERATOR_NOTE],
  operands: ['account_id'],
  flags: { yes: switchFlag('Yes, erase it.'), ...OPERATOR_FLAGS },
  examples: ['signal accounts erase 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --yes'],
  async run(input) {
    const id = requireId('account_id', input.operands[0])
    if (!input.flags.yes) {
      throw new ServiceError('config_invalid', {
        message: `Erasing account ${id} cannot be undone. Say so with --yes`,
      })
    }
    await (await openOperatorRequests(input)).delete(`/operator/accounts/${id}`)
    input.stderr.write(`account ${id} is erased\n`)
    return undefined
  },
})

function linesOf({
  account_id,
  email,
  tier,
  opened_at,
  plan,
  next_plans,
  keys,
  quota,
}: AccountAnswer): string {
  const period = ({ tier: name, from, to }: NonNullable<typeof plan>): string => `${name}, ${from} to ${to}`
  const lines = [
    `account   ${account_id}`,
    `e-mail    ${email ?? 'none'}`,
    `opened    ${opened_at}`,
    `tier      ${tier}`,
    ...(plan === null ? [] : [`plan      ${period(plan)}`]),
    ...next_plans.map((next) => `then      ${period(next)}`),
    `calls     ${quota.used} of ${quota.limit} used, ${quota.remaining} left until ${quota.resets_at}`,
    ...keys.map(({ key_id, hint, label }) => `key       ${key_id}  ${hint}  ${label}`.trimEnd()),
  ]
  return `${lines.join('\n')}\n`
}

export const accountCommands: readonly Command[] = [listCommand, showCommand, grantCommand, eraseCommand]
