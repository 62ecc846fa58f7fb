import { z } from 'zod'
import {
  type BlockedHostsAnswer,
  blockedHostsSchema,
  type OperatorSubscription,
  operatorSubscriptionSchema,
  operatorSubscriptionsSchema,
} from '../../contracts/webhook-answers.ts'
import { type Command, type CommandInput, defineCommand } from './command.ts'
import { switchFlag } from './common-flags.ts'
import { OPERATOR_FLAGS, OPERATOR_NOTE, openOperatorRequests, requireId } from './operator-requests.ts'

const listCommand = defineCommand({
  name: 'webhooks list',
  summary: 'Writes the subscriptions of all accounts, one JSON object a line, without their addresses.',
  notes: [OPERATOR_NOTE],
  operands: [],
  flags: { ...OPERATOR_FLAGS },
  examples: ['signal webhooks list'],
  async run(input) {
    const requests = await openOperatorRequests(input)
    for await (const page of requests.pages('/operator/webhooks', {}, operatorSubscriptionsSchema))
      for (const webhook of page.webhooks) input.stdout.write(`${JSON.stringify(webhook)}\n`)
    return undefined
  },
})

const showCommand = defineCommand({
  name: 'webhooks show',
  summary: 'Shows a subscription: whose it is, how it stands, and how far it has come.',
  notes: [OPERATOR_NOTE],
  operands: ['subscription_id'],
  flags: { json: switchFlag('Writes the subscription as JSON.'), ...OPERATOR_FLAGS },
  examples: ['signal webhooks show 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'],
  async run(input) {
    const id = requireId('subscription_id', input.operands[0])
    const requests = await openOperatorRequests(input)
    const webhook = await requests.get(`/operator/webhooks/${id}`, {}, operatorSubscriptionSchema)
    input.stdout.write(input.flags.json ? `${JSON.stringify(webhook)}\n` : linesOf(webhook))
    return undefined
  },
})

const REASON = {
  schema: z.string().trim().min(1).max(120).default('no reason is given'),
  help: 'Why; the owner is shown it. Default: no reason is given.',
  example: 'complaints of the receiver',
} as const

const CHANGE_FLAGS = {
  reason: REASON,
  json: switchFlag('Writes the answer as JSON.'),
  ...OPERATOR_FLAGS,
} as const

/** What is stopped or allowed: a subscription by its id, or else a host. */
async function change(input: CommandInput<typeof CHANGE_FLAGS>, what: 'stop' | 'allow'): Promise<undefined> {
  const [target = ''] = input.operands
  const { reason, json } = input.flags
  const requests = await openOperatorRequests(input)
  if (z.uuid().safeParse(target.toLowerCase()).success) {
    const path = `/operator/webhooks/${target.toLowerCase()}/${what}`
    const webhook = await requests.post(path, { reason }, operatorSubscriptionSchema)
    input.stdout.write(json ? `${JSON.stringify(webhook)}\n` : linesOf(webhook))
    return
  }
  const path = `/operator/webhook-hosts/${what === 'stop' ? 'block' : 'allow'}`
  const answer = await requests.post(path, { host: target, reason }, blockedHostsSchema)
  input.stdout.write(json ? `${JSON.stringify(answer)}\n` : hostLines(answer))
}

const stopCommand = defineCommand({
  name: 'webhooks stop',
  summary:
    'Stops a subscription, or everything that is sent to a host: only `webhooks allow` lifts it, and nothing is lost.',
  notes: [
    'A name stands for all names below it as well. Tests and new subscriptions are refused at a host that is stopped.',
    OPERATOR_NOTE,
  ],
  operands: ['subscription_id_or_host'],
  flags: CHANGE_FLAGS,
  examples: [
    'signal webhooks stop 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --reason complaints',
    'signal webhooks stop bot.example.com --reason complaints',
  ],
  run: (input) => change(input, 'stop'),
})

const allowCommand = defineCommand({
  name: 'webhooks allow',
  summary:
    'Lifts a stop: a subscription is paused then, and its owner may resume it; to a host all is sent again.',
  notes: [OPERATOR_NOTE],
  operands: ['subscription_id_or_host'],
  flags: CHANGE_FLAGS,
  examples: ['signal webhooks allow bot.example.com --reason cleared'],
  run: (input) => change(input, 'allow'),
})

const hostsCommand = defineCommand({
  name: 'webhooks hosts',
  summary: 'Writes the hosts that nothing is sent to, one JSON object a line.',
  notes: [OPERATOR_NOTE],
  operands: [],
  flags: { ...OPERATOR_FLAGS },
  examples: ['signal webhooks hosts'],
  async run(input) {
    const requests = await openOperatorRequests(input)
    const { hosts } = await requests.get('/operator/webhook-hosts', {}, blockedHostsSchema)
    for (const host of hosts) input.stdout.write(`${JSON.stringify(host)}\n`)
    return undefined
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
