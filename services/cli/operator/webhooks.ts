import { z } from 'zod'
import {
  type OperatorSubscription,
  operatorSubscriptionSchema,
  operatorSubscriptionsSchema,
} from '../../../contracts/webhook-answers.ts'
import type { Command } from '../kit/command.ts'
import { operatorCommand, requireId, rowsOf } from '../kit/operator-command.ts'

const listCommand = operatorCommand({
  name: 'webhooks list',
  summary: 'Writes the subscriptions of all accounts, one JSON object a line, without their addresses.',
  examples: ['signal webhooks list'],
  act: ({ requests }) =>
    rowsOf(requests, '/operator/webhooks', operatorSubscriptionsSchema, ({ webhooks }) => webhooks),
})

const showCommand = operatorCommand({
  name: 'webhooks show',
  summary: 'Shows a subscription: its account, its state and its cursor.',
  operand: { name: 'subscription_id', read: requireId },
  examples: ['signal webhooks show 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'],
  act: ({ requests, operand: id }) =>
    requests.get(`/operator/webhooks/${id}`, {}, operatorSubscriptionSchema),
  words: linesOf,
})

const REASON = {
  schema: z.string().trim().min(1).max(120).default('no reason is given'),
  help: 'Why; the owner is shown it. Default: no reason is given.',
  example: 'complaints of the receiver',
} as const

/** Stops or allows a subscription. */
const changeCommand = (
  what: 'stop' | 'allow',
  named: Pick<Command, 'name' | 'summary' | 'examples'>,
): Command =>
  operatorCommand({
    ...named,
    operand: { name: 'subscription_id', read: requireId },
    flags: { reason: REASON },
    act: ({ requests, flags: { reason }, operand: id }) =>
      requests.post(`/operator/webhooks/${id}/${what}`, { reason }, operatorSubscriptionSchema),
    words: linesOf,
  }) as Command

const stopCommand = changeCommand('stop', {
  name: 'webhooks stop',
  summary: 'Stops a subscription. Only `webhooks allow` lifts it, and nothing is lost.',
  examples: ['signal webhooks stop 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --reason complaints'],
})

const allowCommand = changeCommand('allow', {
  name: 'webhooks allow',
  summary: 'Lifts a stop: the subscription is then paused, and its owner may resume it.',
  examples: ['signal webhooks allow 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --reason cleared'],
})

function linesOf(webhook: OperatorSubscription): string {
  const { state, reason, state_since: since, cursor, counts } = webhook
  const lines = [
    `subscription  ${webhook.id}`,
    `account       ${webhook.account_id}`,
    `sends to      ${webhook.origin ?? 'an address that nobody can read any more'}`,
    `events        ${webhook.events.join(', ')}`,
    `state         ${state} since ${since}${reason === null ? '' : `: ${reason}`}`,
    `cursor        number ${cursor.sequence} behind ${cursor.position}`,
    `delivered     ${counts.delivered}, last at ${webhook.last_success_at ?? 'no time'}`,
    `failures      ${webhook.failures_in_a_row} in a row; ${webhook.retries_open} deliveries wait for another try`,
  ]
  return `${lines.join('\n')}\n`
}

export const webhookCommands: readonly Command[] = [listCommand, showCommand, stopCommand, allowCommand]
