import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { paymentAnswerSchema } from '../../../contracts/answers/payment.ts'
import { type PaymentBlock, serviceBlockSchema } from '../../../contracts/answers/service-block.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { parseJson } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { TOOL_ALIASES, TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import type { Payment } from '../../payments/index.ts'
import {
  PAID_PRODUCTS,
  type PaidCall,
  type PaidCalls,
  type PaidOutcome,
  type PaidTier,
  paidPath,
  type SentBody,
} from '../../tool-calls/index.ts'
import { openRoutes, senderOf } from '../add-routes.ts'
import { requireJsonType } from '../bodies.ts'
import { answerFailure, errorBody } from '../errors.ts'
import { anyObject, KEY, KEY_IF_ANY, operation, unchecked } from '../openapi.ts'
import { createWaits } from '../request-signal.ts'
import { toPaymentAnswer } from './payment-answer.ts'

export interface PaymentRoutesOptions {
  readonly paid: PaidCalls
  /** @throws ServiceError `not_found`, and those of the store */
  readonly showPayment: (paymentId: string) => Promise<Payment>
}

export const PAID_TIERS = ['starter', 'pro'] as const satisfies readonly PaidTier[]

/** A payment needs no cookie and no permission, so pages of any origin may pay. */
const PAID_CORS_HEADERS = {
  'cache-control': 'no-store',
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, X-Request-Id, Retry-After, Idempotency-Replayed',
} as const

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST',
  'access-control-allow-headers':
    'Authorization, Content-Type, Idempotency-Key, PAYMENT-SIGNATURE, X-PAYMENT, Payment-Secret, Access-Control-Expose-Headers, Traceparent',
  'access-control-max-age': '600',
} as const

/** A product: its offer to who brings no payment, and what a request comes to. */
interface Sold {
  readonly offer: () => PaidOutcome
  readonly pay: (asked: Omit<PaidCall, 'tool'>) => Promise<PaidOutcome>
}

/**
 * `POST /x402/<tool>` and `POST /x402/plans/<tier>`: paid for request by request, by x402 in its versions 1 and 2.
 * `GET` and `HEAD` answer what `POST` answers without a payment: indexers look for offers that way.
 * `GET /x402/payments/:id`: the state of a payment. Its id cannot be guessed and stands in the answer that was paid
 * for; neither that answer nor the signature is shown.
 */
export const paymentsPlugin: FastifyPluginAsync<PaymentRoutesOptions> = async (app, options) => {
  const { paid, showPayment } = options
  const untilGone = createWaits(app)
  takeAnyBody(app)
  app.setErrorHandler(answerPaidFailure)

  const serve = (url: string, { offer, pay }: Sold, words?: PaidWords): void => {
    const route = { config: { takesAnyType: true }, schema: words?.pay ?? {}, validatorCompiler: unchecked }
    app.post(url, route, async (request, reply) => {
      const { rawHeaders } = request.raw
      const body = readPaidBody(rawHeaders, request.body)
      // Whether anybody still waits is asked only where something has to be waited for.
      const asked = { ...senderOf(request), rawHeaders, body, signal: () => untilGone(reply) }
      return send(await pay(asked), request, reply)
    })
    app.get(url, { schema: words?.offer ?? {} }, async (request, reply) => send(offer(), request, reply))
    answerPreflight(app, url)
  }
  const soldTool = (tool: ToolName): Sold => ({
    offer: () => paid.tools.offer(tool),
    pay: (asked) => paid.tools.call({ ...asked, tool }),
  })
  for (const tool of Object.keys(TOOLS) as ToolName[]) serve(paidPath(tool), soldTool(tool), wordsOf(tool))
  // The same again, which needs no description of its own.
  for (const [alias, tool] of Object.entries(TOOL_ALIASES)) serve(`/x402/${alias}`, soldTool(tool))
  for (const tier of PAID_TIERS) {
    const sold: Sold = {
      offer: () => paid.plans.offer(tier),
      pay: (asked) => paid.plans.buy(tier, asked),
    }
    serve(paidPath(`plans/${tier}`), sold, wordsOf(tier))
  }
  openRoutes(app)('GET /x402/payments/:id', {
    ...operation('payments', 'payment', 'The state of a payment'),
    description: 'Open to every holder of the id, which stands in the answer that was paid for.',
    params: z.strictObject({
      id: z.uuid().toLowerCase().describe('The id of the payment: `_service.payment.id`'),
    }),
    response: { 200: paymentAnswerSchema },
    handle: async (_request, { id }) => toPaymentAnswer(await showPayment(id)),
  })
  answerPreflight(app, '/x402/payments/:id')
}

/**
 * The body of a request to a paid route. It is read as JSON for the price, no matter its headers; whether they say
 * what they must is checked once it is paid for.
 *
 * @param rawHeaders as Node has them: of two lines of one name it otherwise keeps the first and says nothing
 */
export function readPaidBody(rawHeaders: readonly string[], body: unknown): SentBody {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  let lenient: unknown
  let fault = bytes.length === 0 ? 'it is empty' : undefined
  try {
    if (fault === undefined) lenient = parseJson(bytes.toString())
  } catch (error) {
    fault = reasonOf(error)
  }
  return {
    isEmpty: bytes.length === 0,
    lenient,
    require() {
      requireJsonType(rawHeaders)
      if (fault === undefined) return lenient
      throw new ServiceError('invalid_request', { message: `The body is not JSON: ${fault}` })
    },
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
  const reading = { parseAs: 'buffer', bodyLimit: LIMITS.requestBodyBytes } as const
  app.addContentTypeParser(ANY_TYPE, reading, (_, body, done) => done(null, body))
  app.addHook('onRequest', ({ headers }, reply, done) => {
    headers['content-type'] = ANY_TYPE
    reply.headers(PAID_CORS_HEADERS)
    done()
  })
}

/** Names of a product in the ids and summaries of its operations. */
const NAMES: Readonly<Record<ToolName | PaidTier, readonly [noun: string, words: string]>> = {
  get_trade_call: ['TradeCall', 'a trade call'],
  get_market_regime: ['MarketRegime', 'a market regime'],
  scan_trade_calls: ['TradeScan', 'a scan of trade calls'],
  scan_funding_arb: ['FundingScan', 'a scan of funding rates'],
  starter: ['Starter', 'the starter plan'],
  pro: ['Pro', 'the pro plan'],
}
type PaidWords = ReturnType<typeof wordsOf>

const header = (description: string) => z.string().optional().describe(description)
const PAYMENT_HEADERS = z.object({
  'X-PAYMENT': header('The payment: base64 of JSON, version 1 or 2 of x402'),
  'PAYMENT-SIGNATURE': header('The same, as version 2 names it; both only with the same payment'),
  'Payment-Secret': header('`_service.payment.secret` of the first answer, to get it again'),
})
const offerSchema = z.object({
  error: z.string(),
  code: z.string(),
  message: z.string(),
  next_step: z.string(),
  request_id: z.string(),
  x402Version: z.int(),
  accepts: z.array(anyObject).describe('Empty if nothing can be paid'),
})
const block = z.object({ _service: serviceBlockSchema })
const boughtPlanSchema = block.extend({
  plan: z.enum(PAID_TIERS),
  days: z.int().positive(),
  account_id: z.uuid(),
  from: z.iso.datetime(),
  to: z.iso.datetime(),
})

/** The operations at the path of a product: `POST` sells it, `GET` shows its offer to indexers. */
function wordsOf(product: ToolName | PaidTier) {
  const [noun, words] = NAMES[product]
  const offer = {
    ...operation('payments', `offer${noun}`, `The price of ${words}: the offer that POST makes`),
    description: 'The answer is always 402. HEAD has the same headers and no body.',
    response: { 402: offerSchema.describe('The offer') },
  }
  const refused = offerSchema.describe('The offer, or why a payment was refused')
  if (product === 'starter' || product === 'pro')
    return {
      offer,
      pay: {
        ...operation('payments', `buy${noun}`, `Buy ${words} for 30 days, for the account of the key`),
        description:
          'The same handshake as for a tool. The plan begins once the payment is settled; until then the answer is `payment_pending`, and the same request asks again.',
        security: KEY,
        headers: PAYMENT_HEADERS,
        body: z.object({}).describe('Empty; may be left out'),
        response: { 200: boughtPlanSchema, 402: refused },
      },
    }
  const { description, request, response } = TOOLS[product]
  return {
    offer,
    pay: {
      ...operation('payments', `pay${noun}`, `Pay for ${words}`),
      description: `${description} Without a payment, and without a key that has calls left, the answer is an offer: status 402, for version 1 of x402 in the body, for version 2 in the header PAYMENT-REQUIRED. The same authorization with the same request gets the same answer again.`,
      security: KEY_IF_ANY,
      headers: PAYMENT_HEADERS,
      body: request.meta({ examples: [PAID_PRODUCTS[product].example.request] }),
      response: { 200: z.intersection(response, block), 402: refused },
    },
  }
}

/** Lets a page of any origin ask (Fetch standard §3.2.2), of a path whose hooks set the other headers. */
function answerPreflight(app: FastifyInstance, url: string): void {
  app.options(url, async (_, reply) => reply.code(204).headers(PREFLIGHT_HEADERS).send())
}

function send(outcome: PaidOutcome, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.type('application/json; charset=utf-8')
  if (outcome.kind === 'offer') {
    const { offer, refusal } = outcome
    reply.header('payment-required', offer.header)
    const body = JSON.stringify(errorBody(refusal, request.id))
    return reply.code(402).send(`{${offer.members},${body.slice(1)}`)
  }
  const { body, text, isReplay, receipt } = outcome
  const { _service: service = {} } = body
  const { payment } = service as { readonly payment?: PaymentBlock }
  const isPaid = payment?.state === 'confirmed' && payment.transaction !== null
  assert(!isPaid || receipt !== undefined, 'an answer whose payment is confirmed has its receipt')
  if (receipt !== undefined) reply.header(receipt.name, receipt.value)
  if (isReplay) reply.header('idempotency-replayed', 'true')
  return reply.send(text?.text ?? JSON.stringify(body))
}

/** As everywhere; a page of any origin reads it, also if the request was refused before the hooks here ran. */
const answerPaidFailure = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
  answerFailure(error, request, reply.headers(PAID_CORS_HEADERS))
