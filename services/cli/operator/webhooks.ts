import { z } from 'zod'
import {
  type BlockedHostsAnswer,
  blockedHostsSchema,
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

/** Stops or allows a subscription, named by its id, or else a host. */
const changeCommand = (
  what: 'stop' | 'allow',
  told: Pick<Command, 'name' | 'summary' | 'notes' | 'examples'>,
): Command =>
  operatorCommand({
    ...told,
    operand: { name: 'subscription_id_or_host', read: (_name, text) => text },
    flags: { reason: REASON },
    async act({
      requests,
      flags: { reason },
      operand: target,
    }): Promise<OperatorSubscription | BlockedHostsAnswer> {
      if (z.uuid().safeParse(target.toLowerCase()).success) {
        const path = `/operator/webhooks/${target.toLowerCase()}/${what}`
        return requests.post(path, { reason }, operatorSubscriptionSchema)
      }
      const path = `/operator/webhook-hosts/${what === 'stop' ? 'block' : 'allow'}`
      return requests.post(path, { host: target, reason }, blockedHostsSchema)
    },
    words: (answer) => ('hosts' in answer ? hostLines(answer) : linesOf(answer)),
  }) as Command

const stopCommand = changeCommand('stop', {
  name: 'webhooks stop',
  summary:
    'Stops a subscription, or everything that is sent to a host. Only `webhooks allow` lifts it, and nothing is lost.',
  notes: [
    'A name stands for all names below it as well. Tests and new subscriptions are refused at a host that is stopped.',
  ],
  examples: [
    'signal webhooks stop 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --reason complaints',
    'signal webhooks stop bot.example.com --reason complaints',
  ],
})

const allowCommand = changeCommand('allow', {
  name: 'webhooks allow',
  summary:
    'Lifts a stop: a subscription is then paused, and its owner may resume it; a host gets everything again.',
  examples: ['signal webhooks allow bot.example.com --reason cleared'],
})

const hostsCommand = operatorCommand({
  name: 'webhooks hosts',
  summary: 'Writes the hosts that nothing is sent to, one JSON object a line.',
  examples: ['signal webhooks hosts'],
  async *act({ requests }) {
    yield* (await requests.get('/operator/webhook-hosts', {}, blockedHostsSchema)).hosts
  },
})

const hostLines = ({ hosts }: BlockedHostsAnswer): string =>
  hosts.length === 0
    ? 'no host is stopped\n'
    : hosts.map(({ host, since, reason }) => `${host}  since ${since}: ${reason}\n`).join('')

function linesOf(webhook: OperatorSubscription): string {
  const { state, reason, state_since: since, cursor, lag, counts } = webhook
  const lines = [
    `subscription  ${webhook.id}`,
    `account       ${webhook.account_id}`,
    `sends to      ${webhook.origin ?? 'an address that nobody can read any more'}`,
    `events        ${webhook.events.join(', ')}`,
    `state         ${state} since ${since}${reason === null ? '' : `: ${reason}`}`,
    `cursor        number ${cursor.sequence} behind ${cursor.position}${lag === null ? '' : `; ${lag.signals}${lag.is_more ? ' or more' : ''} signals wait`}`,
    `delivered     ${counts.delivered}, last at ${webhook.last_success_at ?? 'no time'}`,
    `failures      ${webhook.failures_in_a_row} in a row; ${webhook.retries_open} deliveries wait for another try`,
  ]
  return `${lines.join('\n')}\n`
}

export const webhookCommands: readonly Command[] = [
  listCommand,
  showCommand,
  stopCommand,
  allowCommand,
  hostsCommand,
]
