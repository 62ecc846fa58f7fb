import { LIMITS } from '../../../contracts/limits.ts'
import { AnswerTooLong, boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { statedWaitMs } from './stated-wait.ts'
import { VenueFailure } from './venue-failure.ts'

/** The part of an HTTP answer that a venue client uses. */
export interface VenueAnswer {
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  text(): Promise<string>
}

export interface VenueRequest {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** Sends one request and reads its whole answer. */
export type VenueTransport = (url: string, request: VenueRequest) => Promise<VenueAnswer>

export interface VenueTransportOptions {
  readonly fetch: typeof fetch
  readonly now: () => number
  /** Stands in for the scheme and host of every address; its path goes before theirs, and is in no message. */
  readonly baseUrl?: string
  readonly timeoutMs?: number
  readonly maxBytes?: number
  /** The venue's own clock as an answer gives it, to the second; Unix milliseconds. */
  readonly onVenueTime?: (time: number) => void
}

/** Statuses that pass: the venue is busy, limits us, or is not well. 418 is what some send to who ignored 429. */
const isPassing = (status: number): boolean => status === 429 || status === 418 || status >= 500

/** Statuses of who is not let in: a firewall, a limit that was passed too often, a blocked region. */
const BARRING: ReadonlySet<number> = new Set([401, 403, 451])

/** Characters of an answer that go into a message. */
const SHOWN = 160

/**
 * An HTTP client that never waits for ever and never reads without end: the time limit covers the body too, so
 * that a venue which sends half an answer and falls silent costs one timeout, and an answer past the size limit
 * is cut off. Failures come as {@link VenueFailure}.
 */
export function createVenueTransport(options: VenueTransportOptions): VenueTransport {
  const { timeoutMs = LIMITS.venueRequestMs, maxBytes = LIMITS.venueResponseBytes } = options
  const baseUrl = options.baseUrl?.replace(/\/+$/, '')
  const byWayOf = baseUrl === undefined ? '' : `, by way of ${new URL(baseUrl).host},`
  // Another address may hold a key, which who answers there, or the client, may repeat.
  const quoted = (text: string): string => (baseUrl === undefined ? `: ${text.slice(0, SHOWN)}` : '')
  const reasonOf = baseUrl === undefined ? deepestReason : codeOf
  return async (url, { method = 'GET', headers = {}, body }) => {
    const { host, pathname, search } = new URL(url)
    // Parameters are left out of messages.
    const place = `${host}${pathname}${byWayOf}`
    const address = baseUrl === undefined ? url : `${baseUrl}${pathname}${search}`
    const request = {
      method,
      headers,
      redirect: 'manual',
      ...(body !== undefined && { body }),
    } as const
    try {
      const bounds = { fetch: options.fetch, timeMs: timeoutMs, mostBytes: maxBytes }
      const {
        status,
        statusText,
        headers: fields,
        body: bytes,
      } = await boundedFetch(address, request, bounds)
      const text = bytes.toString('utf8')
      const venueTime = Date.parse(fields.get('date') ?? '')
      if (!Number.isNaN(venueTime)) options.onVenueTime?.(venueTime)
      // A date is read by the venue's clock.
      const now = Number.isNaN(venueTime) ? options.now() : venueTime
      const waitMs = status < 400 ? undefined : statedWaitMs(text, now, fields)
      const wait = { reason: `status ${status}`, ...(waitMs !== undefined && { retryAfterMs: waitMs }) }
      if (isPassing(status))
        throw new VenueFailure('passing', `${place} answered ${status}${quoted(text)}`, wait)
      // Venues refuse in JSON; an HTML page, with any status, is from a firewall before them.
      const isPage = /^\s*</.test(text) || (status >= 300 && !/^\s*[{[]/.test(text))
      if (isPage || BARRING.has(status)) {
        throw new VenueFailure('barred', `${place} answered ${status}${quoted(text)}`, wait)
      }
      return { status, statusText, headers: fields, text: () => Promise.resolve(text) }
    } catch (error) {
      if (error instanceof VenueFailure) throw error
      if (error instanceof AnswerTooLong) {
        throw new VenueFailure('refused', `${place} sent more than ${maxBytes} bytes`, { cause: error })
      }
      if (error instanceof Error && error.name === 'TimeoutError') {
        throw new VenueFailure('passing', `${place} did not answer within ${timeoutMs} ms`, {
          cause: error,
          reason: 'no answer in time',
        })
      }
      throw new VenueFailure('passing', `${place} could not be reached: ${reasonOf(error)}`, {
        cause: error,
        reason: KINDS.find(([pattern]) => pattern.test(codeOf(error)))?.[1] ?? 'connection failed',
      })
    }
  }
}

/** Codes of errors, in words for anybody. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/ENOTFOUND|EAI_AGAIN/, 'no such host'],
  [/ECONNREFUSED/, 'connection refused'],
  [/CERT|TLS/, 'certificate not accepted'],
]

/** `fetch failed` says nothing; what it was caused by does. */
function deepestCause(error: unknown): unknown {
  let reason = error
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause
  return reason
}

function deepestReason(error: unknown): string {
  const cause = deepestCause(error)
  return cause instanceof Error ? cause.message : String(cause)
}

/** The code or name of an error, without its message. */
function codeOf(error: unknown): string {
  const cause = deepestCause(error)
  if (!(cause instanceof Error)) return 'no answer'
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}
