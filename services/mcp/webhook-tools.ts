import { z } from 'zod'
import type { Json, JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Scope } from '../../contracts/oauth.ts'
import { toolArguments } from '../../contracts/tools/tool-arguments.ts'
import type { ToolDefinition } from '../../contracts/tools/tool-catalogue.ts'
import {
  attemptsAnswerSchema,
  createdSubscriptionAnswerSchema,
  recoveryAnswerSchema,
  rotatedSecretAnswerSchema,
  subscriptionAnswerSchema,
  testAnswerSchema,
} from '../../contracts/webhook-answers.ts'
import {
  attemptsQuery,
  createSchema,
  hasSinceWhereAsked,
  listQuery,
  recoverFields,
  resumeFields,
  rotateFields,
  SINCE_FAULT,
  subscriptionParams,
  testFields,
} from '../http/routes/webhook-requests.ts'
import { type WebhookOwner, type WebhookService, webhookActs } from '../http/webhook-acts.ts'
import { callerAs } from '../tool-calls/index.ts'
import type { FreeTool, FreeTools, ToolHints } from './free-tools.ts'

type Acts = ReturnType<typeof webhookActs>

/** A tool that manages webhooks, with what it does. */
interface WebhookTool extends ToolDefinition {
  readonly effect: Omit<ToolHints, 'openWorldHint'>
  /** @param asked arguments as its `request` has them */
  act(acts: Acts, owner: WebhookOwner, asked: unknown): Promise<JsonObject>
}

const LOOKS = { readOnlyHint: true } as const
// A hint that is left out means, in MCP, that a tool may write, and that a repeat acts again.
const SETS = { destructiveHint: false, idempotentHint: true } as const
const ADDS = { destructiveHint: false } as const
const REMOVES = { destructiveHint: true, idempotentHint: true } as const

/** The fields of a subscription in the list of tools; its route describes the rest, so that the list stays short. */
const subscription = subscriptionAnswerSchema
  .pick({ id: true, url: true, events: true, state: true, reason: true, warnings: true })
  .describe('As the route /api/webhooks/:id shows it, with its filter, counts and cursor')

/** Told without the words of its route, which would stand here once for each tool. */
const id = z.string().pipe(subscriptionParams.shape.id)
const one = z.strictObject({ id })
const rows = z.int().min(1).max(LIMITS.webhookRows).default(20).describe('Rows at most')

const define = <Request extends z.ZodType>(
  tool: Omit<WebhookTool, 'request' | 'act'> & {
    readonly request: Request
    act(acts: Acts, owner: WebhookOwner, asked: z.output<Request>): Promise<JsonObject>
  },
): WebhookTool => ({
  ...tool,
  description: `${tool.description} Free; needs an API key.`,
  act: async (acts, owner, asked) => tool.act(acts, owner, asked as z.output<Request>),
})

/** Tools for the owner of webhooks, equal to the routes under /api/webhooks. */
export const WEBHOOK_TOOLS = {
  create_webhook: define({
    title: 'New webhook',
    description: 'Sends trade calls, regime shifts or scan digests to a public HTTPS address, signed.',
    request: createSchema,
    response: subscription.extend({ secret: createdSubscriptionAnswerSchema.shape.secret }),
    effect: ADDS,
    act: (acts, owner, asked) => acts.create(owner, asked),
  }),
  list_webhooks: define({
    title: 'Own webhooks',
    description: 'The webhooks of the account, with their state.',
    request: listQuery.extend({ limit: rows }),
    response: z.object({
      webhooks: z.array(subscription),
      needs_review: z.int().describe('How many are disabled or stopped'),
      next: z.string().nullable().describe('Give it as `after`; null at the end'),
    }),
    effect: LOOKS,
    act: (acts, owner, asked) => acts.list(owner, asked),
  }),
  get_webhook: define({
    title: 'One webhook',
    description: 'A webhook with its filter, state and counts.',
    request: one,
    response: subscription,
    effect: LOOKS,
    act: (acts, owner, asked) => acts.show(owner, asked),
  }),
  delete_webhook: define({
    title: 'Delete a webhook',
    description: 'Removes a webhook for good; nothing is sent to it any more.',
    request: one,
    response: z.object({ id, deleted: z.literal(true) }),
    effect: REMOVES,
    async act(acts, owner, asked) {
      await acts.remove(owner, asked)
      return { id: asked.id, deleted: true }
    },
  }),
  pause_webhook: define({
    title: 'Pause a webhook',
    description: 'Holds deliveries back until the webhook is resumed; signals wait meanwhile.',
    request: one,
    response: subscription,
    effect: SETS,
    act: (acts, owner, asked) => acts.pause(owner, asked),
  }),
  resume_webhook: define({
    title: 'Resume a webhook',
    description: 'Lets a paused or disabled webhook go on, where it stopped or elsewhere.',
    request: z.strictObject({ id, ...resumeFields }).refine(hasSinceWhereAsked, SINCE_FAULT),
    response: subscription,
    effect: SETS,
    act: (acts, owner, asked) => acts.resume(owner, asked),
  }),
  rotate_webhook_secret: define({
    title: 'New secret of a webhook',
    description:
      'Makes another secret for a webhook; those before it sign beside it for a while. It is in this answer and not shown again.',
    request: z.strictObject({ id, ...rotateFields }),
    response: rotatedSecretAnswerSchema,
    effect: ADDS,
    act: (acts, owner, asked) => acts.rotate(owner, asked),
  }),
  test_webhook: define({
    title: 'Test a webhook',
    description: 'Sends a sample delivery to a webhook now, and says what its endpoint answered.',
    request: z.strictObject({ id, ...testFields }),
    response: testAnswerSchema,
    effect: ADDS,
    act: (acts, owner, asked) => acts.test(owner, asked),
  }),
  list_webhook_deliveries: define({
    title: 'Deliveries of a webhook',
    description: 'Attempts to deliver to a webhook, newest first, with what came of each.',
    request: attemptsQuery.extend({ id, limit: rows }),
    response: z.object({
      attempts: z.array(attemptsAnswerSchema.shape.attempts.element.pick({ sequence: true, result: true })),
      next: attemptsAnswerSchema.shape.next,
    }),
    effect: LOOKS,
    act: (acts, owner, asked) => acts.attempts(owner, asked),
  }),
  recover_webhook: define({
    title: 'Try again what a webhook gave up',
    description: 'Tries deliveries of a webhook again that were given up since an instant.',
    request: z.strictObject({ id, ...recoverFields }),
    response: recoveryAnswerSchema,
    effect: SETS,
    act: (acts, owner, asked) => acts.recover(owner, asked),
  }),
} as const satisfies Record<string, WebhookTool>

/** The scope that an access token needs to call a tool, served or not. */
export const scopeOfTool = (name: Json | undefined): Scope =>
  typeof name === 'string' && Object.hasOwn(WEBHOOK_TOOLS, name) ? 'webhooks' : 'calls'

/**
 * The tools for the webhooks of the account whose key comes with a call. Each takes what its route takes, and answers what
 * it answers.
 */
export const webhookTools = (service: WebhookService): FreeTools => {
  const acts = webhookActs(service)
  return new Map(
    Object.entries<WebhookTool>(WEBHOOK_TOOLS).map(([name, tool]) => {
      const run: FreeTool['run'] = async ({ request, authorization, requestId }) => {
        const { accountId, origin } = callerAs(await service.identify(authorization), requestId)
        const asked = toolArguments(name, tool.request, request)
        return { body: await tool.act(acts, { accountId, origin }, asked), isReplay: false }
      }
      const hints = { openWorldHint: true, ...tool.effect }
      return [name, { ...tool, hints, failure: 'internal_error', run }]
    }),
  )
}
