import { z } from 'zod'
import * as answers from '../../contracts/answers/webhook.ts'
import type { Scope } from '../../contracts/domain/oauth.ts'
import { type ErrorCode, ServiceError } from '../../contracts/errors/errors.ts'
import type { Json, JsonObject } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { HISTORY_TOOLS, KNOWLEDGE_TOOLS } from '../../contracts/tools/free-tools.ts'
import { toolArguments } from '../../contracts/tools/tool-arguments.ts'
import { TOOLS, type ToolDefinition } from '../../contracts/tools/tool-catalogue.ts'
import { type RegimeShiftReader, regimeHistory } from '../http/routes/history.ts'
import {
  webhookRequests as requests,
  subscriptionParams,
  type WebhookService,
  webhookHandlers,
} from '../http/webhook-service.ts'
import { callerAs, type KnowledgeService, type ToolAnswer, type ToolCall } from '../tool-calls/index.ts'

/** The result of the check of the caller's key. */
export type KeyCheck = 'ok' | 'key_unknown' | 'key_unverifiable'

/** A tool beside those about markets: it costs no calls, and is not sold. */
interface FreeTool extends ToolDefinition {
  /** The effects of the tool, as MCP has them. */
  readonly hints: Readonly<Record<string, boolean>>
  /** The code that callers get after an internal error. */
  readonly failure: ErrorCode
  /** @throws ServiceError what the same refuses over HTTP */
  run(call: Omit<ToolCall, 'tool'>): Promise<ToolAnswer>
}

/** The tools that are served, by name. */
export type FreeTools = ReadonlyMap<string, FreeTool>

const fresh = (body: ToolAnswer['body']): ToolAnswer => ({ body, isReplay: false })

type Acts = ReturnType<ReturnType<typeof webhookHandlers>>

const LOOKS = { readOnlyHint: true } as const
// A hint that is left out means, in MCP, that a tool may write, and that a repeat acts again.
const SETS = { destructiveHint: false, idempotentHint: true } as const
const ADDS = { destructiveHint: false } as const
const REMOVES = { destructiveHint: true, idempotentHint: true } as const

/** The fields of a subscription in the list of tools; its route describes the rest, so that the list stays short. */
const subscription = answers.subscriptionAnswerSchema
  .pick({ id: true, url: true, events: true, state: true, reason: true, warnings: true })
  .describe('As the route /api/webhooks/:id shows it, with its filter, counts and cursor')

/** Told without the words of its route, which would stand here once for each tool. */
const id = z.string().pipe(subscriptionParams.shape.id)
const ofOne = { request: z.strictObject({ id }), response: subscription }
const rows = z.int().min(1).max(LIMITS.webhookRows).default(20).describe('Rows at most')

/** A tool that does what one of the acts on webhooks does, with the same fields. */
const define = <Act extends keyof Acts>(
  act: Act,
  effect: FreeTool['hints'],
  title: string,
  tool: Omit<ToolDefinition, 'title'> & { readonly request: z.ZodType<Parameters<Acts[Act]>[0]> },
) => ({ ...tool, title, act, effect, description: `${tool.description} Free; needs an API key.` })

/** Tools for the owner of webhooks, equal to the routes under /api/webhooks. */
export const WEBHOOK_TOOLS = {
  create_webhook: define('create', ADDS, 'New webhook', {
    description:
      'Subscribes a public HTTPS address, such as a bot, to signed trade calls, regime shifts or scan digests.',
    request: requests.create,
    response: subscription.extend({ secret: answers.createdSubscriptionAnswerSchema.shape.secret }),
  }),
  list_webhooks: define('list', LOOKS, 'Own webhooks', {
    description: 'Which webhooks the account has, with their state.',
    request: requests.list.extend({ limit: rows }),
    response: z.object({
      webhooks: z.array(subscription),
      needs_review: z.int().describe('How many are disabled or stopped'),
      next: z.string().nullable().describe('Give it as `after`; null at the end'),
    }),
  }),
  get_webhook: define('show', LOOKS, 'One webhook', {
    description: 'One webhook with its filter, state and counts.',
    ...ofOne,
  }),
  delete_webhook: define('remove', REMOVES, 'Delete a webhook', {
    description: 'Removes a webhook for good; nothing is sent to it any more.',
    request: ofOne.request,
    response: z.object({ id, deleted: z.literal(true) }),
  }),
  pause_webhook: define('pause', SETS, 'Pause a webhook', {
    description: 'Pauses deliveries for now; nothing is lost.',
    ...ofOne,
  }),
  resume_webhook: define('resume', SETS, 'Resume a webhook', {
    description:
      'Resumes deliveries after a pause or when it was disabled: resume from its cursor, from now, or from the past.',
    request: requests.resume.safeExtend({ id }),
    response: subscription,
  }),
  rotate_webhook_secret: define('rotate', ADDS, 'New secret of a webhook', {
    description:
      'Rotates the signing secret of a webhook; the former secrets also sign for a while. It is in this answer and not shown again.',
    request: requests.rotate.extend({ id }),
    response: answers.rotatedSecretAnswerSchema,
  }),
  test_webhook: define('test', ADDS, 'Test a webhook', {
    description: 'Sends a sample delivery to a webhook now, and reports what its endpoint answered.',
    request: requests.test.extend({ id }),
    response: answers.testAnswerSchema,
  }),
  list_webhook_deliveries: define('attempts', LOOKS, 'Deliveries of a webhook', {
    description: 'Attempts to deliver to a webhook, newest first, with their results: delivered or failed.',
    request: requests.attempts.extend({ id, limit: rows }),
    response: z.object({
      attempts: z.array(
        answers.attemptsAnswerSchema.shape.attempts.element.pick({ sequence: true, result: true }),
      ),
      next: answers.attemptsAnswerSchema.shape.next,
    }),
  }),
  recover_webhook: define('recover', SETS, 'Retry deliveries of a webhook', {
    description: 'Retries deliveries that failed for good since an instant.',
    request: requests.recover.extend({ id }),
    response: answers.recoveryAnswerSchema,
  }),
} as const

/** The scope that an access token needs to call a tool, served or not. */
export const scopeOfTool = (name: Json | undefined): Scope =>
  typeof name === 'string' && Object.hasOwn(WEBHOOK_TOOLS, name) ? 'webhooks' : 'calls'

/**
 * The tools for the webhooks of the account whose key comes with a call. Each takes what its route takes, and answers what
 * it answers.
 */
function webhookTools(service: WebhookService): [string, FreeTool][] {
  const actsOf = webhookHandlers(service)
  return Object.entries(WEBHOOK_TOOLS).map(([name, tool]) => {
    const run: FreeTool['run'] = async ({ request, authorization, requestId }) => {
      const { accountId, origin } = callerAs(await service.identify(authorization), requestId)
      const asked = toolArguments(name, tool.request as z.ZodType<{ id: string }>, request)
      const answer = await actsOf({ accountId, origin })[tool.act](asked as never)
      return fresh(answer ?? { id: asked.id, deleted: true })
    }
    return [name, { ...tool, hints: { openWorldHint: true, ...tool.effect }, failure: 'internal_error', run }]
  })
}

/** The services behind the tools that cost nothing; tools of one that is left out are not served. */
export interface FreeToolSources {
  readonly knowledge?: KnowledgeService | undefined
  readonly history?: { readonly regimeShifts: RegimeShiftReader } | undefined
  readonly webhooks?: WebhookService | undefined
  readonly checkKey: (authorization: string) => Promise<KeyCheck>
  readonly sources: { readonly exchanges: () => readonly string[] }
}

/** The free tools of these services. What they throw and answer is what their routes do over HTTP. */
export function freeTools({ knowledge, history, webhooks, checkKey, sources }: FreeToolSources): FreeTools {
  const tools = new Map<string, FreeTool>()
  const add = (name: string, tool: ToolDefinition, failure: ErrorCode, run: FreeTool['run']) =>
    tools.set(name, { ...tool, hints: { readOnlyHint: true, openWorldHint: false }, failure, run })
  if (knowledge !== undefined) {
    const { search_knowledge: search, chat_knowledge: chat } = KNOWLEDGE_TOOLS
    add('search_knowledge', search, 'INTERNAL_ERROR', async (call) => fresh(await knowledge.search(call)))
    add('chat_knowledge', chat, 'INTERNAL_ERROR', (call) => knowledge.chat(call))
  }
  if (history !== undefined) {
    const tool = HISTORY_TOOLS.get_regime_shifts
    add('get_regime_shifts', tool, 'internal_error', async ({ request, authorization }) => {
      // It needs no key, but a key that does not hold is refused as everywhere.
      const key = authorization === undefined ? 'ok' : await checkKey(authorization)
      if (key !== 'ok') throw new ServiceError(key)
      const asked = toolArguments('get_regime_shifts', tool.request, request)
      return fresh(regimeHistory({ ...history, exchanges: sources.exchanges }, asked))
    })
  }
  if (webhooks !== undefined) for (const [name, tool] of webhookTools(webhooks)) tools.set(name, tool)
  return tools
}

/** Every tool that may be served, by its use: what announces the tools is made from this. */
export const TOOL_GROUPS = [
  { use: 'Markets (each answer costs one call)', tools: TOOLS },
  { use: 'This documentation (free, with a key)', tools: KNOWLEDGE_TOOLS },
  { use: 'The record (free, without a key)', tools: HISTORY_TOOLS },
  { use: 'Webhooks (free, with a key)', tools: WEBHOOK_TOOLS },
] as const

export const ALL_TOOL_NAMES: readonly string[] = TOOL_GROUPS.flatMap(({ tools }) => Object.keys(tools))

/** A tool as MCP lists it. */
export type ListedTool = ReturnType<typeof listed>

/**
 * The tools of the service, in their order; what it lists does not depend on who asks. Models read the list whole
 * before they ask anything, so it is short: a field of answers is explained where it first occurs.
 *
 * @param free those that are listed after the ones about markets
 */
export function listedTools(free: FreeTools = new Map()): ListedTool[] {
  const said = new Set<string>()
  const markets = Object.entries(TOOLS).map(([name, tool]) =>
    listed(name, { ...tool, hints: { readOnlyHint: true, openWorldHint: true } }, ['_service'], said),
  )
  return [...markets, ...Array.from(free, ([name, tool]) => listed(name, tool, [], said))]
}

/**
 * A tool with the schema of everything that it puts into `structuredContent`: the fields it has, and what those mean. Their
 * types stand in the answer, and in `/openapi.json`. Refusals are part of it, because widely used clients check them
 * against it too, and would show the mismatch in place of the refusal.
 */
function listed(
  name: string,
  tool: ToolDefinition & Pick<FreeTool, 'hints'>,
  metadata: readonly string[],
  said: Set<string>,
) {
  const schema = z.toJSONSchema(tool.request, { io: 'input' }) as Json
  const input = shortened(schema) as { readonly properties: JsonObject }
  const { properties: fields = {}, required = [] } = z.toJSONSchema(tool.response)
  const properties: Record<string, JsonObject> = {}
  for (const [field, { description }] of Object.entries(fields as Record<string, JsonObject>)) {
    const words = JSON.stringify([field, description])
    // A field of the request is explained there.
    if (description === undefined || said.has(words) || Object.hasOwn(input.properties, field)) continue
    said.add(words)
    properties[field] = { description }
  }
  const { title, description, hints } = tool
  const anyOf = [{ required: [...required, ...metadata] }, { required: ['code', 'message', 'next_step'] }]
  return {
    name,
    title,
    description,
    inputSchema: { ...input, type: 'object' as const },
    outputSchema: { type: 'object' as const, properties, anyOf },
    annotations: { ...hints },
  }
}

/** Keywords of limits that a refusal tells, and models need not know before. */
const UNSAID = /^(?:\$schema|pattern|(?:min|max)(?:Length|Items))$/

/** A schema of arguments as short as a model can do with: what may be null may as well be left out. */
function shortened(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(shortened)
  if (typeof schema !== 'object' || schema === null) return schema
  const { anyOf, ...rest } = schema as JsonObject
  const [only, none] = Array.isArray(anyOf) && anyOf.length === 2 ? (anyOf as JsonObject[]) : []
  const plain = none?.type === 'null' ? { ...only, ...rest } : schema
  return Object.fromEntries(
    Object.entries(plain).flatMap(([keyword, value]) =>
      (UNSAID.test(keyword) && typeof value !== 'object') ||
      Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
        ? []
        : [[keyword, shortened(value)]],
    ),
  )
}
