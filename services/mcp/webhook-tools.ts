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
  listQuery,
  recoverFields,
  resumeSchema,
  rotateFields,
  subscriptionParams,
  testFields,
  type WebhookOwner,
  type WebhookService,
  webhookHandlers,
} from '../http/webhook-service.ts'
import { callerAs } from '../tool-calls/index.ts'
import type { FreeTool, FreeTools, ToolHints } from './free-tools.ts'

type Acts = ReturnType<typeof webhookHandlers>

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

/** A tool that does what one of the acts on webhooks does, with the same fields. */
const define = <Act extends keyof Acts>(
  act: Act,
  effect: Omit<ToolHints, 'openWorldHint'>,
  tool: ToolDefinition & { readonly request: z.ZodType<Parameters<Acts[Act]>[1]> },
) => ({ ...tool, act, effect, description: `${tool.description} Free; needs an API key.` })

/** Tools for the owner of webhooks, equal to the routes under /api/webhooks. */
export const WEBHOOK_TOOLS = {
  create_webhook: define('create', ADDS, {
    title: 'New webhook',
    description:
      'Subscribes a public HTTPS address, such as a bot, to signed trade calls, regime shifts or scan digests.',
    request: createSchema,
    response: subscription.extend({ secret: createdSubscriptionAnswerSchema.shape.secret }),
  }),
  list_webhooks: define('list', LOOKS, {
    title: 'Own webhooks',
    description: 'Which webhooks the account has, with their state.',
    request: listQuery.extend({ limit: rows }),
    response: z.object({
      webhooks: z.array(subscription),
      needs_review: z.int().describe('How many are disabled or stopped'),
      next: z.string().nullable().describe('Give it as `after`; null at the end'),
    }),
  }),
  get_webhook: define('show', LOOKS, {
    title: 'One webhook',
    description: 'One webhook with its filter, state and counts.',
    request: one,
    response: subscription,
  }),
  delete_webhook: define('remove', REMOVES, {
    title: 'Delete a webhook',
    description: 'Removes a webhook for good; nothing is sent to it any more.',
    request: one,
    response: z.object({ id, deleted: z.literal(true) }),
  }),
  pause_webhook: define('pause', SETS, {
    title: 'Pause a webhook',
    description: 'Pauses deliveries for now; nothing is lost.',
    request: one,
    response: subscription,
  }),
  resume_webhook: define('resume', SETS, {
    title: 'Resume a webhook',
    description:
      'Resumes deliveries after a pause or when it was disabled: resume from its cursor, from now, or from the past.',
    request: resumeSchema({ id }),
    response: subscription,
  }),
  rotate_webhook_secret: define('rotate', ADDS, {
    title: 'New secret of a webhook',
    description:
      'Rotates the signing secret of a webhook; the former secrets also sign for a while. It is in this answer and not shown again.',
    request: z.strictObject({ id, ...rotateFields }),
    response: rotatedSecretAnswerSchema,
  }),
  test_webhook: define('test', ADDS, {
    title: 'Test a webhook',
    description: 'Sends a sample delivery to a webhook now, and reports what its endpoint answered.',
    request: z.strictObject({ id, ...testFields }),
    response: testAnswerSchema,
  }),
  list_webhook_deliveries: define('attempts', LOOKS, {
    title: 'Deliveries of a webhook',
    description: 'Attempts to deliver to a webhook, newest first, with their results: delivered or failed.',
    request: attemptsQuery.extend({ id, limit: rows }),
    response: z.object({
      attempts: z.array(attemptsAnswerSchema.shape.attempts.element.pick({ sequence: true, result: true })),
      next: attemptsAnswerSchema.shape.next,
    }),
  }),
  recover_webhook: define('recover', SETS, {
    title: 'Retry deliveries of a webhook',
    description: 'Retries deliveries that failed for good since an instant.',
    request: z.strictObject({ id, ...recoverFields }),
    response: recoveryAnswerSchema,
  }),
} as const

/** The scope that an access token needs to call a tool, served or not. */
export const scopeOfTool = (name: Json | undefined): Scope =>
  typeof name === 'string' && Object.hasOwn(WEBHOOK_TOOLS, name) ? 'webhooks' : 'calls'

/**
 * The tools for the webhooks of the account whose key comes with a call. Each takes what its route takes, and answers what
 * it answers.
 */
export const webhookTools = (service: WebhookService): FreeTools => {
  const acts = webhookHandlers(service)
  const tools = Object.entries(WEBHOOK_TOOLS).map(([name, tool]): [string, FreeTool] => {
    const act = acts[tool.act] as (owner: WebhookOwner, asked: unknown) => Promise<JsonObject | undefined>
    const run: FreeTool['run'] = async ({ request, authorization, requestId }) => {
      const { accountId, origin } = callerAs(await service.identify(authorization), requestId)
      const asked = toolArguments(name, tool.request as z.ZodType<{ id: string }>, request)
      const answer = await act({ accountId, origin }, asked)
      return { body: answer ?? { id: asked.id, deleted: true }, isReplay: false }
    }
    return [name, { ...tool, hints: { openWorldHint: true, ...tool.effect }, failure: 'internal_error', run }]
  })
  return new Map(tools)
}
