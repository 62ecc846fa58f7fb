import { type PayerAccount, type PaymentRequired, type SignedPayment, signPayment } from './payments.ts'
import { SignalRefusal } from './refusal.ts'
import { ROUTES, type RouteAnswer, type RouteName, type RouteRequest, routed, segmentOf } from './routes.ts'
import {
  jsonOf,
  lost,
  Passing,
  type Query,
  type Refused,
  refuse,
  Transport,
  type TransportOptions,
  waitOf,
} from './transport.ts'
import type { Payment, Tools, Verdict } from './types.ts'
import { follow, replay, type VerdictFilter } from './verdicts.ts'

export interface SignalClientOptions extends TransportOptions {
  /** Pays for calls that nothing else pays for; an account of viem. */
  readonly payer?: PayerAccount
  /** The most that is signed for one answer; 0.05 USDC unless told. */
  readonly mostUsdc?: number
}

interface CallOptions {
  readonly signal?: AbortSignal
}

/** A request of optional fields may be left out whole. */
type Asking<Request, Answer> =
  Partial<Request> extends Request
    ? (request?: Request, options?: CallOptions) => Promise<Answer>
    : (request: Request, options?: CallOptions) => Promise<Answer>

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name

/** A method for each tool, by its name in camel case. */
type ToolMethods = {
  readonly [Name in keyof Tools as Camel<Name>]: Asking<Tools[Name]['request'], Tools[Name]['answer']>
}
/** A method for each route beside the tools. */
type RouteMethods = { readonly [Name in RouteName]: Asking<RouteRequest<Name>, RouteAnswer<Name>> }

export interface SignalClient extends ToolMethods, RouteMethods {
  /**
   * Asks a tool. However often it has to be sent, it is charged once: by one idempotency key, or one payment.
   *
   * @throws SignalRefusal
   */
  call<Name extends keyof Tools>(
    name: Name,
    request: Tools[Name]['request'],
    options?: CallOptions,
  ): Promise<Tools[Name]['answer']>
  /**
   * The state of a payment: whether it is settled, and what was sent back of it.
   *
   * @param id `_service.payment.id` of the answer that was paid for
   * @throws SignalRefusal `not_found`
   */
  payment(id: string, options?: CallOptions): Promise<Payment>
  /** The proof of a verdict, for `checkProof`. */
  proof(verdictId: string, options?: CallOptions): Promise<string>
  /** An answer of the service as JSON; `/openapi.json` names the paths. */
  get(path: string, query?: Query, options?: CallOptions): Promise<unknown>
  /** An answer as it came, for example a tile of the transparency log. */
  raw(path: string, options?: CallOptions): Promise<Uint8Array>
  /** The pages of a list, for example of `/api/track-record`, to its last one. */
  pages(path: string, query?: Query, options?: CallOptions): AsyncGenerator<unknown, void, void>
  /** Sends a change, which is sent again only where a limit refused it. */
  post(path: string, body: object, options?: CallOptions): Promise<unknown>
  delete(path: string, options?: CallOptions): Promise<void>
  /** The state of the service; also where it is not ready. */
  state(options?: CallOptions): Promise<Record<string, unknown>>
  /** Recorded verdicts in the order of the log, to its end; after a lost connection it goes on after the last row. */
  replay(filter?: VerdictFilter, options?: CallOptions): AsyncGenerator<Verdict, void, void>
  /** Recorded verdicts as their windows close, without end; begins after `after`, or now. */
  follow(filter?: VerdictFilter, options?: CallOptions): AsyncGenerator<Verdict, void, void>
}

/**
 * A client of the service. It needs nothing but Fetch and Web Crypto.
 *
 * @example
 * const signals = createSignalClient({ url: 'https://signals.example.com', apiKey: process.env.SIGNAL_API_KEY })
 * const { call, confidence } = await signals.getTradeCall({ coin: 'BTC', timeframe: '1h' })
 */
export function createSignalClient(options: SignalClientOptions): SignalClient {
  const transport = new Transport(options)
  const calls = new ToolCalls(transport, options)
  const tools = Object.keys(TOOLS).map((name) => [
    name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    (request: object = {}, { signal }: CallOptions = {}) => calls.call(name as keyof Tools, request, signal),
  ])
  const routes = Object.keys(ROUTES).map((name) => [
    name,
    async (request: Readonly<Record<string, unknown>> = {}, { signal }: CallOptions = {}) => {
      const { method, path, left } = routed(name as RouteName, request)
      if (method === 'GET') return transport.get(path, left as Query, signal)
      return transport.change(method, path, method === 'DELETE' ? undefined : left, signal)
    },
  ])
  return {
    ...(Object.fromEntries([...tools, ...routes]) as ToolMethods & RouteMethods),
    call: (name, request, { signal } = {}) => calls.call(name, request, signal) as never,
    proof: async (id, { signal } = {}) =>
      new TextDecoder().decode(await transport.bytes(`/log/proof/${segmentOf(id)}`, signal)),
    payment: async (id, { signal } = {}) =>
      (await transport.get(`/x402/payments/${segmentOf(id)}`, {}, signal)) as Payment,
    get: (path, query = {}, { signal } = {}) => transport.get(path, query, signal),
    raw: (path, { signal } = {}) => transport.bytes(path, signal),
    pages: (path, query = {}, { signal } = {}) => transport.pages(path, query, signal),
    post: (path, body, { signal } = {}) => transport.change('POST', path, body, signal),
    delete: async (path, { signal } = {}) => void (await transport.change('DELETE', path, undefined, signal)),
    state: ({ signal } = {}) => transport.state(signal),
    replay: (filter = {}, { signal } = {}) => replay(transport, filter, signal),
    follow: (filter = {}, { signal } = {}) => follow(transport, filter, signal),
  }
}

/** The tools, and whether a call whose answer was lost may be sent again. */
const TOOLS: Readonly<Record<keyof Tools, 'again' | 'once'>> = {
  get_trade_call: 'again',
  get_market_regime: 'again',
  scan_trade_calls: 'again',
  scan_funding_arb: 'again',
  search_knowledge: 'again',
  chat_knowledge: 'again',
  get_regime_shifts: 'again',
  list_webhooks: 'again',
  get_webhook: 'again',
  delete_webhook: 'again',
  pause_webhook: 'again',
  resume_webhook: 'again',
  create_webhook: 'once',
  rotate_webhook_secret: 'once',
  test_webhook: 'once',
  list_webhook_deliveries: 'again',
  recover_webhook: 'again',
}

/** Calls of tools, each charged once however often it is sent. */
class ToolCalls {
  readonly #transport: Transport
  readonly #payer: PayerAccount | undefined
  readonly #most: bigint

  constructor(transport: Transport, { payer, mostUsdc = 0.05 }: SignalClientOptions) {
    this.#transport = transport
    this.#payer = payer
    this.#most = BigInt(Math.round(mostUsdc * 1_000_000))
  }

  async call(name: keyof Tools, request: object, signal?: AbortSignal): Promise<unknown> {
    const key = crypto.randomUUID()
    const params = { name, arguments: request }
    const once = async (): Promise<unknown> =>
      this.#once(params, key, signal).catch((error: unknown) => {
        const isSafe = TOOLS[name] === 'again' || !(error instanceof Passing)
        throw isSafe || error.refused?.code === 'rate_limited' ? error : lost(error)
      })
    try {
      return await this.#transport.persist(once, signal)
    } catch (error) {
      const offer = error instanceof SignalRefusal ? offerIn(error.details) : undefined
      if (this.#payer === undefined || offer === undefined) throw error
      const payment = await signPayment(offer, this.#payer, { most: this.#most })
      return this.#pay(params, { payment, key }, signal)
    }
  }

  async #once(params: object, key: string, signal: AbortSignal | undefined): Promise<unknown> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      'idempotency-key': key,
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const response = await this.#transport.send('/mcp', { method: 'POST', headers, body }, signal)
    return resultOf(await jsonOf(response), response)
  }

  /**
   * The same payment however often it is sent: it is taken once, and always for the same answer. Once it is on the chain, which
   * everybody reads, the answer takes the secret that a refusal named.
   */
  async #pay(
    params: object,
    { payment, key }: { payment: SignedPayment; key: string },
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const meta: Record<string, unknown> = { 'x402/payment': payment }
    const once = async (): Promise<unknown> => {
      try {
        return await this.#once({ ...params, _meta: meta }, key, signal)
      } catch (error) {
        const secret = error instanceof Passing ? error.refused?.details?.payment_secret : undefined
        if (secret !== undefined) meta['x402/payment-secret'] = secret
        throw error
      }
    }
    return this.#transport.persist(once, signal)
  }
}

/** First `error`, then `result.isError`: the order of the protocol. */
function resultOf(body: Record<string, unknown>, response: Response): unknown {
  const error = body.error as Refused | undefined
  if (error !== undefined) {
    const { message = '', data, code } = error
    if (data?.retryable === true || response.status >= 500 || response.status === 429)
      throw new Passing(message, { waitMs: waitOf(response) })
    throw new SignalRefusal(data?.code ?? String(code), message, { nextStep: data?.next_step })
  }
  const result = body.result as
    | { isError?: boolean; structuredContent?: Refused; content?: { text?: string }[] }
    | undefined
  if (result === undefined) return refuse(body, response)
  if (result.isError !== true) return result.structuredContent
  return refuse(result.structuredContent ?? { message: result.content?.[0]?.text ?? '' }, response)
}

/** The offer that came with a refusal. */
function offerIn(details: unknown): PaymentRequired | undefined {
  const { x402Version, accepts } = (details ?? {}) as Partial<PaymentRequired>
  return x402Version === 2 && Array.isArray(accepts) ? (details as PaymentRequired) : undefined
}
