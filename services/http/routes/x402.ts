import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { assert } from '../../../contracts/assert.ts'
import type { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { PaymentBlock } from '../../../contracts/service-block.ts'
import { TOOL_ALIASES, TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { type PaidCalls, type PaidOutcome, type PaidTier, paidPath } from '../../tool-calls/index.ts'
import { answerFailure, errorBody, toServiceError } from '../errors.ts'
import type { Operation } from '../openapi/operation.ts'
import { createWaits } from '../waits.ts'
import { type PaidOperations, planOperations, toolOperations } from './x402-operations.ts'
import { type PaidEdge, SentCall, SentRequest } from './x402-request.ts'

export interface PaidRoutesOptions {
  readonly paid: PaidCalls
  /** Network address of the caller, as trusted proxies tell it. */
  readonly addressOf: (request: FastifyRequest) => string
}

const TIERS: readonly PaidTier[] = ['starter', 'pro']

/** A payment needs no cookie and no permission, so pages of any origin may pay. */
export const PAID_CORS_HEADERS = {
  'cache-control': 'no-store',
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Request-Id, Retry-After, Idempotency-Replayed',
} as const

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST',
  'access-control-allow-headers':
    'Authorization, Content-Type, Idempotency-Key, PAYMENT-SIGNATURE, X-PAYMENT, Payment-Secret, SIGN-IN-WITH-X, Access-Control-Expose-Headers, Traceparent',
  'access-control-max-age': '600',
} as const

/**
 * `POST /x402/<tool>` and `POST /x402/plans/<tier>`: paid for request by request, by x402 in its versions 1 and 2.
 * `GET` and `HEAD` answer what `POST` answers without a payment: indexers look for offers that way.
 */
export const paidRoutes: FastifyPluginAsync<PaidRoutesOptions> = async (app, { paid, addressOf }) => {
  const edge: PaidEdge = { addressOf, untilGone: createWaits(app) }
  takeAnyBody(app)
  app.setErrorHandler(answerPaidFailure)

  const sellTool = (url: string, tool: ToolName, operations?: PaidOperations) =>
    serve(app, url, {
      operations,
      offer: () => paid.tools.offer(tool),
      answer: (request, reply) => paid.tools.call(new SentCall(tool, edge, request, reply)),
    })
  for (const tool of Object.keys(TOOLS) as ToolName[]) sellTool(paidPath(tool), tool, toolOperations(tool))
  // The same again, which needs no description of its own.
  for (const [alias, tool] of Object.entries(TOOL_ALIASES)) sellTool(`/x402/${alias}`, tool)
  for (const tier of TIERS) {
    serve(app, paidPath(`plans/${tier}`), {
      operations: planOperations(tier),
      offer: () => paid.plans.offer(tier),
      answer: (request, reply) => paid.plans.buy(tier, new SentRequest(edge, request, reply)),
    })
  }
}

/** By its name: what is parsed as `*` is looked for anew with every request. */
const ANY_TYPE = 'application/octet-stream'

/**
 * The type of a body is judged once its payment is: until then any is taken. A type that cannot be read would be
 * refused before the handler runs, so the framework gets another one; the sent type stays in the raw headers.
 */
function takeAnyBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ANY_TYPE,
    { parseAs: 'buffer', bodyLimit: LIMITS.requestBodyBytes },
    (_, body, done) => done(null, body),
  )
  app.addHook('onRequest', ({ headers }, reply, done) => {
    headers['content-type'] = ANY_TYPE
    reply.headers(PAID_CORS_HEADERS)
    done()
  })
}

interface PaidHandlers {
  readonly operations: PaidOperations | undefined
  readonly offer: () => PaidOutcome
  readonly answer: (request: FastifyRequest, reply: FastifyReply) => Promise<PaidOutcome>
}

function serve(app: FastifyInstance, url: string, { operations, offer, answer }: PaidHandlers): void {
  app.post(url, described(operations?.pay), async (request, reply) =>
    send(await answer(request, reply), request, reply),
  )
  app.get(url, described(operations?.offer), async (request, reply) => send(offer(), request, reply))
  answerPreflight(app, url)
}

const described = (operation: Operation | undefined) =>
  operation === undefined ? {} : { schema: { operation } }

/** Lets a page of any origin ask (Fetch standard §3.2.2), of a path whose hooks set the other headers. */
export function answerPreflight(app: FastifyInstance, url: string): void {
  app.options(url, async (_, reply) => reply.code(204).headers(PREFLIGHT_HEADERS).send())
}

/** Most offers come with one refusal, which is the same for all. */
const refusalMembers = new WeakMap<ServiceError, string>()

/** The members of a refusal's body but for the id of the request. */
function membersOf(refusal: ServiceError): string {
  const known = refusalMembers.get(refusal)
  if (known !== undefined) return known
  const { request_id: _id, ...body } = errorBody(refusal, '')
  const members = JSON.stringify(body).slice(1, -1)
  refusalMembers.set(refusal, members)
  return members
}

const JSON_ANSWER = 'application/json; charset=utf-8'

function send(outcome: PaidOutcome, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.type(JSON_ANSWER)
  if (outcome.kind === 'offer') {
    const { offer, refusal } = outcome
    reply.header('payment-required', offer.header)
    const id = JSON.stringify(request.id)
    return reply.code(402).send(`{${offer.members},${membersOf(refusal)},"request_id":${id}}`)
  }
  const { body, text, isReplay, receipt } = outcome
  const { _service: service = {} } = body
  const { payment } = service as { readonly payment?: PaymentBlock }
  const isPaid = payment?.state === 'confirmed' && payment.transaction !== null
  assert(!isPaid || receipt !== undefined, 'an answer whose payment is confirmed has its receipt')
  if (receipt !== undefined) reply.header(receipt.name, receipt.value)
  if (isReplay) reply.header('idempotency-replayed', 'true')
  return reply.send(text === undefined ? JSON.stringify(body) : Buffer.from(text.bytes, 'latin1'))
}

/**
 * As everywhere, and with `Retry-After` where a refusal knows when to ask again. A page reads it, too, where the
 * request was refused before the hooks here had their turn.
 */
export function answerPaidFailure(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.headers(PAID_CORS_HEADERS)
  const { details } = toServiceError(error)
  const seconds = details?.retry_after_s
  if (typeof seconds === 'number') reply.header('retry-after', Math.max(1, Math.ceil(seconds)))
  return answerFailure(error, request, reply)
}
