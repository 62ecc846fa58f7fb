import {
  type PayerAccount,
  type PaymentRequired,
  type SignedPayment,
  type SignInTerms,
  signInAgain,
  signPayment,
} from './payments.ts'
import { linesOf, textOf } from './read-text.ts'
import { SignalRefusal } from './refusal.ts'
import type { Payment, Tools, Verdict, VerdictFilter } from './tools.ts'

export interface SignalClientOptions {
  /** Address of the service. */
  readonly url: string
  /** An API key or an access token; without one the free allowance of the network address applies. */
  readonly apiKey?: string
  /** Pays for calls that nothing else pays for; an account of viem. */
  readonly payer?: PayerAccount
  /** The most that is signed for one answer; 0.05 USDC unless told. */
  readonly mostUsdc?: number
  /** Tries of one call; 5 unless told. */
  readonly tries?: number
  /** How long an answer may take, milliseconds; 30,000 unless told. */
  readonly timeoutMs?: number
  readonly fetch?: typeof globalThis.fetch
  /** Told of failures behind which the same is tried again. */
  readonly onRetry?: (reason: string, waitMs: number) => void
}

export interface SignalClient {
  /**
   * Asks a tool. However often it has to be sent, it is charged once: by one idempotency key, or one payment.
   *
   * @throws SignalRefusal
   */
  call<Name extends keyof Tools>(
    name: Name,
    request: Tools[Name]['request'],
    options?: { readonly signal?: AbortSignal },
  ): Promise<Tools[Name]['answer']>
  getTradeCall(request: Tools['get_trade_call']['request']): Promise<Tools['get_trade_call']['answer']>
  getMarketRegime(
    request: Tools['get_market_regime']['request'],
  ): Promise<Tools['get_market_regime']['answer']>
  scanTradeCalls(request?: Tools['scan_trade_calls']['request']): Promise<Tools['scan_trade_calls']['answer']>
  scanFundingArb(request?: Tools['scan_funding_arb']['request']): Promise<Tools['scan_funding_arb']['answer']>
  /**
   * State of a payment: whether it is settled, and its refund.
   *
   * @param id `_service.payment.id` of the answer that was paid for
   * @throws SignalRefusal `payment_unknown`
   */
  payment(id: string, options?: { readonly signal?: AbortSignal }): Promise<Payment>
  /** Recorded verdicts in the order of the log, to its end; a lost connection is taken up behind the last row. */
  replay(
    filter?: VerdictFilter,
    options?: { readonly signal?: AbortSignal },
  ): AsyncGenerator<Verdict, void, void>
  /** Recorded verdicts as their windows close, without end; begins behind `after`, or now. */
  follow(
    filter?: VerdictFilter,
    options?: { readonly signal?: AbortSignal },
  ): AsyncGenerator<Verdict, void, void>
}

/** A failure that a later try may not meet. */
class Passing extends Error {
  readonly waitMs: number | undefined
  readonly details: Refused['details']
  constructor(message: string, waitMs?: number, cause?: unknown, details?: Refused['details']) {
    super(message, { cause })
    this.waitMs = waitMs
    this.details = details
  }
}

/** Refusals behind which the same request may be answered. */
const PASSING = new Set([
  'engine_unavailable',
  'series_loading',
  'stale_market_data',
  'venue_unavailable',
  'store_unavailable',
  'outcome_unknown',
  'append_unknown',
  'payment_pending',
  'payments_unavailable',
  'rate_limited',
  'key_unverifiable',
])
const PAGE_ROWS = 1_000
/** The longest pause that a service may ask for; the call fails where it asks for more. */
const LONGEST_WAIT_MS = 30_000
const RECONNECT_MS = 1_000
/** Three heartbeats of a stream: a line that says nothing for so long is dead. */
const SILENT_MS = 45_000

/** The refusal after the last try, or where the service asks for a longer pause than the client takes. */
const givenUp = (reason: string, waitMs: number, cause: unknown): SignalRefusal => {
  const again = `call again in ${Math.ceil(waitMs / 1_000)} s`
  const nextStep = `Check the address of the service and its /readyz, then ${again}. The call that was given up may have been counted.`
  return new SignalRefusal('given_up', reason, { nextStep, cause })
}

/**
 * A client of the service. It needs nothing but Fetch and Web Crypto.
 *
 * @example
 * const signals = createSignalClient({ url: 'https://signals.example.com', apiKey: process.env.SIGNAL_API_KEY })
 * const { call, confidence } = await signals.getTradeCall({ coin: 'BTC', timeframe: '1h' })
 */
export function createSignalClient(options: SignalClientOptions): SignalClient {
  const { apiKey, payer, mostUsdc = 0.05, tries = 5, timeoutMs = 30_000, onRetry } = options
  const url = options.url.replace(/\/+$/, '')
  const ask = options.fetch ?? globalThis.fetch
  const authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  const most = BigInt(Math.round(mostUsdc * 1_000_000))

  async function send(path: string, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const all = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
    try {
      return await ask(`${url}${path}`, { redirect: 'error', ...init, signal: all })
    } catch (error) {
      signal?.throwIfAborted()
      throw new Passing(`no answer from ${url}: ${reasonOf(error)}`, undefined, error)
    }
  }

  /** Tries again with a wait that grows, or that was asked for. */
  async function persist<T>(once: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once()
      } catch (error) {
        if (!(error instanceof Passing)) throw error
        const waitMs = error.waitMs ?? Math.min(LONGEST_WAIT_MS, 250 * 2 ** attempt)
        if (attempt >= tries || waitMs > LONGEST_WAIT_MS) throw givenUp(error.message, waitMs, error)
        onRetry?.(error.message, waitMs)
        await pause(waitMs, signal)
      }
    }
  }

  async function callOnce(params: object, key: string, signal: AbortSignal | undefined): Promise<unknown> {
    const response = await send(
      '/mcp',
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-11-25',
          'idempotency-key': key,
          ...authorization,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      },
      signal,
    )
    return resultOf(await jsonOf(response), response)
  }

  async function call(name: string, request: object, signal?: AbortSignal): Promise<unknown> {
    const key = crypto.randomUUID()
    const params = { name, arguments: request }
    try {
      return await persist(() => callOnce(params, key, signal), signal)
    } catch (error) {
      const offer = error instanceof SignalRefusal ? offerIn(error.details) : undefined
      if (payer === undefined || offer === undefined) throw error
      const payment = await signPayment(offer, payer, { most })
      return payOnce(params, { payment, account: payer, key }, signal)
    }
  }

  /**
   * The same payment however often it is sent: it is taken once, and always for the same answer. Once it is on the chain, where
   * everybody reads it, the answer takes a proof besides: the secret that a refusal told, or a signature of the payer.
   */
  async function payOnce(
    params: object,
    { payment, account, key }: { payment: SignedPayment; account: PayerAccount; key: string },
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const meta: Record<string, unknown> = { 'x402/payment': payment }
    let isSignedIn = false
    const once = async (): Promise<unknown> => {
      try {
        return await callOnce({ ...params, _meta: meta }, key, signal)
      } catch (error) {
        if (error instanceof Passing && error.details?.payment_secret !== undefined)
          meta['x402/payment-secret'] = error.details.payment_secret
        const asked =
          error instanceof SignalRefusal
            ? (error.details as Refused | undefined)?.details?.sign_in
            : undefined
        if (asked === undefined || isSignedIn) throw error
        isSignedIn = true
        meta['x402/sign-in-with-x'] = await signInAgain(asked, account, { payment, url })
        return callOnce({ ...params, _meta: meta }, key, signal)
      }
    }
    return persist(once, signal)
  }

  async function* replay(filter: VerdictFilter = {}, { signal }: { signal?: AbortSignal } = {}) {
    let after = filter.after
    let failures = 0
    for (;;) {
      const query = queryOf({ ...filter, after, limit: String(PAGE_ROWS) })
      const response = await persist(
        () => rows(`/api/verdicts?${query}`, 'application/x-ndjson', signal),
        signal,
      )
      const goOn = response.headers.get('x-next-cursor') ?? undefined
      let count = 0
      let isWhole = true
      try {
        for await (const line of linesOf(response)) {
          if (line === '') continue
          const row = JSON.parse(line) as Verdict
          yield row
          after = row.cursor
          count += 1
        }
      } catch (error) {
        signal?.throwIfAborted()
        if (error instanceof SignalRefusal) throw error
        isWhole = false
        failures = count === 0 ? failures + 1 : 1
        const reason = `the replay was cut off: ${reasonOf(error)}`
        if (failures >= tries) throw givenUp(reason, RECONNECT_MS, error)
        onRetry?.(reason, RECONNECT_MS)
        await pause(RECONNECT_MS, signal)
      }
      const isStuck = count === 0 && goOn === after
      if (isWhole && (isStuck || (count < PAGE_ROWS && goOn === undefined))) return
      after = isWhole ? (goOn ?? after) : after
    }
  }

  async function* follow(filter: VerdictFilter = {}, { signal }: { signal?: AbortSignal } = {}) {
    let after = filter.after
    for (;;) {
      const query = queryOf({ ...filter, after })
      try {
        const response = await persist(
          () => rows(`/api/verdicts/stream?${query}`, 'text/event-stream', signal),
          signal,
        )
        let event = ''
        for await (const line of linesOf(response, SILENT_MS)) {
          if (line.startsWith('event: ')) event = line.slice(7)
          if (!line.startsWith('data: ') || event !== 'verdict') continue
          const row = JSON.parse(line.slice(6)) as Verdict
          yield row
          after = row.cursor
        }
      } catch (error) {
        if (signal?.aborted === true) return
        if (error instanceof SignalRefusal) throw error
        onRetry?.(`the stream was cut off: ${reasonOf(error)}`, RECONNECT_MS)
      }
      if (signal?.aborted === true) return
      await pause(RECONNECT_MS, signal).catch(() => undefined)
    }
  }

  /** Asks for rows; the answer has no end in time, so only its beginning is waited for. */
  async function rows(path: string, accept: string, signal: AbortSignal | undefined): Promise<Response> {
    const begun = new AbortController()
    const waiting = setTimeout(() => begun.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    try {
      const both = signal === undefined ? begun.signal : AbortSignal.any([signal, begun.signal])
      const init: RequestInit = { headers: { accept, ...authorization }, redirect: 'error', signal: both }
      const response = await ask(`${url}${path}`, init)
      if (!response.ok) refuse(await jsonOf(response), response)
      return response
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof SignalRefusal || error instanceof Passing) throw error
      throw new Passing(`no answer from ${url}: ${reasonOf(error)}`, undefined, error)
    } finally {
      clearTimeout(waiting)
    }
  }

  const tool =
    <Name extends keyof Tools>(name: Name) =>
    (request: object = {}) =>
      call(name, request) as Promise<Tools[Name]['answer']>
  return {
    call: (name, request, { signal } = {}) => call(name, request, signal) as never,
    getTradeCall: tool('get_trade_call'),
    getMarketRegime: tool('get_market_regime'),
    scanTradeCalls: tool('scan_trade_calls'),
    scanFundingArb: tool('scan_funding_arb'),
    payment: (id, { signal } = {}) =>
      persist(async () => {
        const response = await send(`/x402/payments/${encodeURIComponent(id)}`, {}, signal)
        const body = await jsonOf(response)
        return response.ok ? (body as unknown as Payment) : refuse(body, response)
      }, signal),
    replay,
    follow,
  }
}

interface Refused {
  readonly code?: string | number
  readonly message?: string
  readonly next_step?: string
  readonly details?: {
    readonly retry_after_s?: number
    readonly payment_secret?: string
    readonly sign_in?: SignInTerms
  }
  readonly data?: { readonly code?: string; readonly next_step?: string; readonly retryable?: boolean }
}

async function jsonOf(response: Response): Promise<Record<string, unknown>> {
  const text = await textOf(response).catch((error: unknown) => {
    if (error instanceof SignalRefusal) throw error
    throw new Passing(`the answer was cut off: ${reasonOf(error)}`, undefined, error)
  })
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch (error) {
    if (response.status >= 500 || response.status === 429)
      throw new Passing(`HTTP ${response.status}`, waitOf(response))
    throw new SignalRefusal('unreadable', `HTTP ${response.status} without JSON: is this the address?`, {
      cause: error,
    })
  }
}

/** First `error`, then `result.isError`: that is the order in which the protocol tells. */
function resultOf(body: Record<string, unknown>, response: Response): unknown {
  const error = body.error as Refused | undefined
  if (error !== undefined) {
    const { message = '', data, code } = error
    if (data?.retryable === true || response.status >= 500 || response.status === 429)
      throw new Passing(message, waitOf(response))
    throw new SignalRefusal(data?.code ?? String(code), message, { nextStep: data?.next_step })
  }
  const result = body.result as
    | { isError?: boolean; structuredContent?: Refused; content?: { text?: string }[] }
    | undefined
  if (result === undefined) return refuse(body, response)
  if (result.isError !== true) return result.structuredContent
  return refuse(result.structuredContent ?? { message: result.content?.[0]?.text ?? '' }, response)
}

function refuse(refused: Refused, response: Response): never {
  const { code = 'refused', message = `HTTP ${response.status}`, next_step: nextStep, details } = refused
  const seconds = details?.retry_after_s
  const isPassing =
    PASSING.has(String(code)) || response.status === 429 || (response.status >= 500 && code === 'refused')
  if (isPassing)
    throw new Passing(
      `${code}: ${message}`,
      seconds === undefined ? waitOf(response) : seconds * 1_000,
      undefined,
      details,
    )
  throw new SignalRefusal(String(code), message, { nextStep, details: refused })
}

/** The offer that came with a refusal. */
function offerIn(details: unknown): PaymentRequired | undefined {
  const { x402Version, accepts } = (details ?? {}) as Partial<PaymentRequired>
  return x402Version === 2 && Array.isArray(accepts) ? (details as PaymentRequired) : undefined
}

function waitOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1_000 : undefined
}

function queryOf(fields: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, value)
  return query.toString()
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    if (signal?.aborted === true) stop()
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** Reason of a failed `fetch`, which its cause holds. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { message?: string; code?: string }; message?: string }
  return (cause?.message ?? '') || (cause?.code ?? '') || (message ?? String(error))
}
