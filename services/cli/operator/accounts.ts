import { z } from 'zod'
import {
  type AccountAnswer,
  accountAnswerSchema,
  accountsAnswerSchema,
} from '../../../contracts/account-answers.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { tierSchema } from '../../../contracts/plans.ts'
import type { Command } from '../kit/command.ts'
import { switchFlag } from '../kit/common-flags.ts'
import { operatorCommand, requireId, rowsOf } from '../kit/operator-command.ts'

const listCommand = operatorCommand({
  name: 'accounts list',
  summary: 'Writes the accounts that are open, one JSON object a line.',
  examples: ['signal accounts list'],
  act: ({ requests }) =>
    rowsOf(requests, '/operator/accounts', accountsAnswerSchema, ({ accounts }) => accounts),
})

const operand = { name: 'account_id', read: requireId }

const showCommand = operatorCommand({
  name: 'accounts show',
  summary: 'Shows an account: its address, its plan, its keys and the calls left.',
  operand,
  examples: ['signal accounts show 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'],
  act: ({ requests, operand: id }) => requests.get(`/operator/accounts/${id}`, {}, accountAnswerSchema),
  words: linesOf,
})

const grantCommand = operatorCommand({
  name: 'accounts grant',
  summary: 'Gives an account a plan, or further calls in the window that runs.',
  notes: [
    'A plan lasts 30 days. It begins at once and takes the place of one of another tier; one of the same tier begins after it. `free` ends all plans.',
  ],
  operand,
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
  },
  examples: [
    'signal accounts grant 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --tier pro',
    'signal accounts grant 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --calls 500 --reason outage',
  ],
  check({ tier, calls, reason }) {
    const isPlan = tier !== undefined && calls === undefined && reason === undefined
    const isCalls = tier === undefined && calls !== undefined && reason !== undefined
    if (isPlan || isCalls) return
    throw new ServiceError('config_invalid', {
      message:
        'Give --tier alone, or --calls together with --reason. For example: --calls 500 --reason outage',
    })
  },
  act({ requests, flags: { tier, calls, reason }, operand: id }) {
    const body = tier === undefined ? { calls: calls ?? 0, reason: reason ?? '' } : { tier }
    return requests.post(`/operator/accounts/${id}/grant`, body, accountAnswerSchema)
  },
  words: linesOf,
})

const eraseCommand = operatorCommand({
  name: 'accounts erase',
  summary: 'Erases an account: revokes its keys, ends its plans and forgets its e-mail address, for good.',
  notes: ['It cannot be undone, so it has to be confirmed with --yes.'],
  operand,
  flags: { yes: switchFlag('Yes, erase it.') },
  examples: ['signal accounts erase 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --yes'],
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
