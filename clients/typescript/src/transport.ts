import type { Bytes } from './bytes.ts'
import { bytesOf } from './read-text.ts'
import { SignalRefusal } from './refusal.ts'

export interface TransportOptions {
  /** Address of the service. */
  readonly url: string
  /** An API key or an access token; without one the free allowance of the network address applies. */
  readonly apiKey?: string
  /** Tries of one call; 5 unless told. */
  readonly tries?: number
  /** How long an answer may take, milliseconds; 30,000 unless told. */
  readonly timeoutMs?: number
  readonly fetch?: typeof globalThis.fetch
  /** Called with each failure after which the same is tried again. */
  readonly onRetry?: (reason: string, waitMs: number) => void
}

/** The query of a request: lists are joined by commas, and what is undefined or null is not sent. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>

/** On one machine no line is spared, and packing takes longer than sending. Elsewhere the runtime asks for what it unpacks. */
const SAME_MACHINE = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::|\/|$)/

/** A refusal in the words of the service. */
export interface Refused {
  readonly code?: string | number
  readonly message?: string
  readonly next_step?: string
  readonly details?: {
    readonly retry_after_s?: number
    readonly payment_secret?: string
  }
  readonly data?: { readonly code?: string; readonly next_step?: string; readonly retryable?: boolean }
}

/** A failure that a later try may not meet. */
export class Passing extends Error {
  readonly waitMs: number | undefined
  readonly refused: Refused | undefined
  constructor(
    message: string,
    more: { waitMs?: number | undefined; cause?: unknown; refused?: Refused } = {},
  ) {
    super(message, { cause: more.cause })
    this.waitMs = more.waitMs
    this.refused = more.refused
  }
}

/** Refusals after which the same request may be answered, beside other answers of 503. */
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
  'overloaded',
  'shutting_down',
])
/** A service that asks for a longer pause is not waited for. */
const LONGEST_WAIT_MS = 30_000
/** Longer than any list of the service. */
const MOST_PAGES = 10_000

/** The refusal after the last try, or where the service asks for a longer pause than the client takes. */
export const givenUp = (reason: string, waitMs: number, cause: unknown): SignalRefusal => {
  const again = `call again in ${Math.ceil(waitMs / 1_000)} s`
  const nextStep = `Check the address of the service and its /readyz, then ${again}. The call that was given up may have been counted.`
  const details = cause instanceof Passing ? cause.refused : undefined
  return new SignalRefusal('given_up', reason, { nextStep, cause, details })
}

/** The refusal where a change may have been made, and its answer was lost. */
export function lost(cause: Passing): SignalRefusal {
  const nextStep = 'Ask whether the change was made, and send it again where it was not.'
  return new SignalRefusal(String(cause.refused?.code ?? 'given_up'), cause.message, { nextStep, cause })
}

/** Requests to one service, each tried again while its failure may pass. */
export class Transport {
  readonly url: string
  readonly tries: number
  readonly #timeoutMs: number
  readonly #fetch: typeof globalThis.fetch
  readonly #authorization: Readonly<Record<string, string>>
  readonly #onRetry: TransportOptions['onRetry']

  constructor({ url, apiKey, tries = 5, timeoutMs = 30_000, fetch, onRetry }: TransportOptions) {
    this.url = url.replace(/\/+$/, '')
    this.tries = tries
    this.#timeoutMs = timeoutMs
    this.#fetch = fetch ?? globalThis.fetch
    this.#authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
    this.#onRetry = onRetry
  }

  /** One request; the time is for its whole answer. @throws Passing */
  async send(path: string, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> {
    const timeout = AbortSignal.timeout(this.#timeoutMs)
    const all = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
    return this.#ask(path, init, all, signal)
  }

  /** Asks for rows; the answer has no end in time, so only its beginning is waited for. */
  async rows(path: string, accept: string, signal: AbortSignal | undefined): Promise<Response> {
    const begun = new AbortController()
    const late = new Error(`no answer within ${this.#timeoutMs} ms`)
    const waiting = setTimeout(() => begun.abort(late), this.#timeoutMs)
    try {
      const both = signal === undefined ? begun.signal : AbortSignal.any([signal, begun.signal])
      const headers = SAME_MACHINE.test(this.url) ? { accept, 'accept-encoding': 'identity' } : { accept }
      const response = await this.#ask(path, { headers }, both, signal)
      return response.ok ? response : refuse(await jsonOf(response), response)
    } finally {
      clearTimeout(waiting)
    }
  }

  async #ask(
    path: string,
    { headers, ...init }: RequestInit,
    signal: AbortSignal,
    stop: AbortSignal | undefined,
  ): Promise<Response> {
    const all = { ...(headers as Record<string, string>), ...this.#authorization }
    // A method of its own would be called with another `this` than browsers take.
    const ask = this.#fetch
    try {
      return await ask(`${this.url}${path}`, { redirect: 'error', ...init, headers: all, signal })
    } catch (error) {
      stop?.throwIfAborted()
      throw new Passing(`no answer from ${this.url}: ${reasonOf(error)}`, { cause: error })
    }
  }

  /** Tries again with a wait that grows, or that was asked for. */
  async persist<T>(once: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once()
      } catch (error) {
        if (!(error instanceof Passing)) throw error
        const waitMs = error.waitMs ?? Math.min(LONGEST_WAIT_MS, 250 * 2 ** attempt)
        if (attempt >= this.tries || waitMs > LONGEST_WAIT_MS) throw givenUp(error.message, waitMs, error)
        await this.retry(error.message, waitMs, signal)
      }
    }
  }

  /** Says that the same is tried again, and waits. */
  async retry(reason: string, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    this.#onRetry?.(reason, waitMs)
    await pause(waitMs, signal)
  }

  /** @throws SignalRefusal */
  async get(path: string, query: Query, signal: AbortSignal | undefined): Promise<unknown> {
    const address = withQuery(path, query)
    return this.persist(async () => bodyOf(await this.send(address, {}, signal)), signal)
  }

  /** The bytes of an answer that is no JSON. @throws SignalRefusal */
  async bytes(path: string, signal: AbortSignal | undefined): Promise<Bytes> {
    return this.persist(async () => {
      const response = await this.send(path, {}, signal)
      return response.ok ? wholeOf(response) : refuse(await jsonOf(response), response)
    }, signal)
  }

  /**
   * A change is sent again where a limit refused it, for then nothing was done.
   *
   * @returns the answer; undefined where it is empty
   */
  async change(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body: object | undefined,
    signal: AbortSignal | undefined,
  ) {
    const sent = { 'content-type': 'application/json' }
    const init = body === undefined ? { method } : { method, headers: sent, body: JSON.stringify(body) }
    const once = async (): Promise<unknown> => {
      let isRefused = false
      try {
        const response = await this.send(path, init, signal)
        isRefused = response.status === 429
        if (response.status === 204) return undefined
        const answer = await jsonOf(response)
        if (response.ok) return answer
        return isRefused ? refuse(answer, response) : fail(answer, response)
      } catch (error) {
        throw error instanceof Passing && !isRefused ? lost(error) : error
      }
    }
    return this.persist(once, signal)
  }

  /** The pages of a list, each asked for with the `next` of the one before it. */
  async *pages(
    path: string,
    query: Query,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<unknown, void, void> {
    const seen = new Set<string>()
    for (let onward: Query = {}; ; ) {
      const page = await this.get(path, { ...query, ...onward }, signal)
      yield page
      const { next } = page as { readonly next?: string | null }
      if (next === undefined || next === null) return
      if (seen.has(next)) throw new SignalRefusal('unreadable', `${path} has no end: it names a page twice`)
      if (seen.size === MOST_PAGES)
        throw new SignalRefusal('unreadable', `${path} has no end: it has more than ${MOST_PAGES} pages`)
      seen.add(next)
      onward = { after: next }
    }
  }

  /** The answer about the state of the service, which refuses callers where it is not ready. */
  async state(signal: AbortSignal | undefined): Promise<Record<string, unknown>> {
    return this.persist(async () => jsonOf(await this.send('/readyz', {}, signal)), signal)
  }
}

async function bodyOf(response: Response): Promise<unknown> {
  const body = await jsonOf(response)
  return response.ok ? body : refuse(body, response)
}

const wholeOf = (response: Response): Promise<Bytes> =>
  bytesOf(response).catch((error: unknown) => {
    if (error instanceof SignalRefusal) throw error
    throw new Passing(`the answer was cut off: ${reasonOf(error)}`, { cause: error })
  })

export async function jsonOf(response: Response): Promise<Record<string, unknown>> {
  const text = new TextDecoder().decode(await wholeOf(response))
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch (error) {
    if (response.status >= 500 || response.status === 429)
      throw new Passing(`HTTP ${response.status}`, { waitMs: waitOf(response) })
    throw new SignalRefusal('unreadable', `HTTP ${response.status} without JSON: is this the address?`, {
      cause: error,
    })
  }
}

export function refuse(refused: Refused, response: Response): never {
  const { code = 'refused', message = `HTTP ${response.status}`, details } = refused
  const seconds = details?.retry_after_s
  const isPassing =
    PASSING.has(String(code)) ||
    response.status === 429 ||
    (response.status === 503 && code !== 'market_data_missing') ||
    (response.status >= 500 && code === 'refused')
  if (!isPassing) return fail(refused, response)
  const waitMs = seconds === undefined ? waitOf(response) : seconds * 1_000
  throw new Passing(`${code}: ${message}`, { waitMs, refused })
}

function fail(refused: Refused, response: Response): never {
  const { code = 'refused', message = `HTTP ${response.status}`, next_step: nextStep } = refused
  throw new SignalRefusal(String(code), message, { nextStep, details: refused })
}

export function waitOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1_000 : undefined
}

export function withQuery(path: string, fields: Query): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined && value !== null) query.set(name, String(value))
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
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

/** The reason of a failure of `fetch`, which stands in its cause. */
export function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { message?: string; code?: string }; message?: string }
  return (cause?.message ?? '') || (cause?.code ?? '') || (message ?? String(error))
}
