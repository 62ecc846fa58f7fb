import { z } from 'zod'
import {
  type OperatorSubscription,
  operatorSubscriptionSchema,
  operatorSubscriptionsSchema,
} from '../../../contracts/webhook-answers.ts'
import { type Command, defineCommand } from './command.ts'
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
    let after: string | null | undefined
    while (after !== null) {
      const query: Record<string, string> = after === undefined ? {} : { after }
      const page: z.output<typeof operatorSubscriptionsSchema> = await requests.get(
        '/operator/webhooks',
        query,
        operatorSubscriptionsSchema,
      )
      for (const webhook of page.webhooks) input.stdout.write(`${JSON.stringify(webhook)}\n`)
      after = page.next
    }
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

const disableCommand = defineCommand({
  name: 'webhooks disable',
  summary: 'Disables a subscription: nothing is sent until its owner resumes it, and nothing is lost.',
  notes: [OPERATOR_NOTE],
  operands: ['subscription_id'],
  flags: {
    reason: {
      schema: z.string().trim().min(1).max(150).default('by the operator'),
      help: 'Why; its owner is shown it. Default: by the operator.',
      example: 'complaints of the receiver',
    },
    json: switchFlag('Writes the subscription as JSON.'),
    ...OPERATOR_FLAGS,
  },
  examples: ['signal webhooks disable 5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55 --reason complaints'],
  async run(input) {
    const { reason, json } = input.flags
    const id = requireId('subscription_id', input.operands[0])
    const requests = await openOperatorRequests(input)
    const webhook = await requests.post(
      `/operator/webhooks/${id}/disable`,
      { reason },
      operatorSubscriptionSchema,
    )
    input.stdout.write(json ? `${JSON.stringify(webhook)}\n` : linesOf(webhook))
    return undefined
  },
})

function linesOf(webhook: OperatorSubscription): string {
  const { state, reason, state_since: since, cursor, lag, counts } = webhook
  const lines = [
    `subscription  ${webhook.id}`,
    `account       ${webhook.account_id}`,
    `sends to      ${webhook.origin}`,
    `events        ${webhook.events.join(', ')}`,
    `state         ${state} since ${since}${reason === null ? '' : `: ${reason}`}`,
    `cursor        number ${cursor.sequence} behind ${cursor.position}; ${lag.signals}${lag.is_more ? ' or more' : ''} signals wait`,
    `delivered     ${counts.delivered}, last at ${webhook.last_success_at ?? 'no time'}`,
    `failures      ${webhook.failures_in_a_row} in a row; ${webhook.retries_open} deliveries wait for another try`,
  ]
  return `${lines.join('\n')}\n`
}

export const webhookCommands: readonly Command[] = [listCommand, showCommand, disableCommand]
