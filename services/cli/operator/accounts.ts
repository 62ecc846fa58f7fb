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
  summary: 'Gives an account a plan.',
  notes: [
    'A plan lasts 30 days. It begins at once and takes the place of one of another tier; one of the same tier begins after it. `free` ends all plans.',
  ],
  operand,
  flags: {
    tier: { schema: tierSchema, help: 'Plan to begin: starter, pro, or free.', example: 'pro' },
  },
  examples: ['signal accounts grant 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --tier pro'],
  act: ({ requests, flags: { tier }, operand: id }) =>
    requests.post(`/operator/accounts/${id}/grant`, { tier }, accountAnswerSchema),
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
