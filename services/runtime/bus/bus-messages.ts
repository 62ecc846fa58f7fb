import { z } from 'zod'
import { ERRORS, type ErrorCode, isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { type Json, jsonFault } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { withTimeout } from '../async/with-timeout.ts'
import type { ReportFault, RequestHandler } from './bus.ts'

const SUBJECT_TOKENS = 16
const TOKEN = /^[A-Za-z0-9_-]{1,64}$/
const QUOTED_CHARACTERS = 80

/** Ends all that listens and serves at its signal, or when the bus is closed. */
export function createBusGate() {
  const closing = new AbortController()
  return {
    isOpen: (): boolean => !closing.signal.aborted,
    /** @throws ServiceError `dependency_unavailable` once it is closed, `internal_error` for an invalid subject */
    check(subject: string): void {
      if (closing.signal.aborted) throw unavailable('the bus is closed')
      checkSubject(subject)
    },
    onEnd(signal: AbortSignal, end: () => void): void {
      AbortSignal.any([signal, closing.signal]).addEventListener('abort', end, { once: true })
    },
    close: (): void => closing.abort(),
  }
}

/** Refuses anything but tokens joined by dots; wildcards are no tokens. @throws ServiceError `internal_error` */
export function checkSubject(subject: string): void {
  const tokens = subject.split('.')
  if (tokens.length <= SUBJECT_TOKENS && tokens.every((token) => TOKEN.test(token))) return
  const quoted = JSON.stringify(subject.slice(0, QUOTED_CHARACTERS))
  const rule = `1 to ${SUBJECT_TOKENS} tokens of 1 to 64 of A-Z a-z 0-9 _ -, joined by dots`
  throw new ServiceError('internal_error', { message: `the subject ${quoted} is not ${rule}` })
}

/**
 * The JSON text of a message body. @throws ServiceError `internal_error` for what is not JSON, `payload_too_large` past
 * `LIMITS.busMessageBytes`.
 */
export function encodeBody(subject: string, body: Json): string {
  const fault = jsonFault(body, LIMITS.jsonDepth)
  if (fault !== undefined) {
    throw new ServiceError('internal_error', { message: `the message to ${subject} is not JSON at ${fault}` })
  }
  const text = JSON.stringify(body)
  const bytes = Buffer.byteLength(text)
  if (bytes > LIMITS.busMessageBytes) {
    throw new ServiceError('payload_too_large', {
      message: `the message to ${subject} has ${bytes} bytes; the bus takes ${LIMITS.busMessageBytes}`,
    })
  }
  return text
}

/** The reply to a requester: the answer, or the error that was thrown instead of it. */
const replySchema = z.union([
  z.object({ body: z.json() }),
  z.object({
    error: z.object({
      code: z.custom<ErrorCode>((code) => typeof code === 'string' && Object.hasOwn(ERRORS, code)),
      message: z.string(),
      details: z.record(z.string(), z.json()).optional(),
    }),
  }),
])

/** Turns the text of a request into the text of its reply; never rejects. */
export type AnswerRequest = (requestText: string) => Promise<string>

/**
 * Wraps a handler so that every request gets a reply, also when the handler throws, and so that no more
 * than `LIMITS.busInFlight` requests are handled at once.
 */
export function answerRequests(subject: string, handler: RequestHandler, report: ReportFault): AnswerRequest {
  let inFlight = 0
  return async (requestText) => {
    if (inFlight >= LIMITS.busInFlight) {
      const message = `${subject} is answering ${inFlight} requests already; ask again shortly`
      return encodeError(new ServiceError('dependency_unavailable', { message }))
    }
    inFlight++
    try {
      return encodeBody(subject, { body: await handler(JSON.parse(requestText) as Json) })
    } catch (error) {
      if (isServiceError(error)) return encodeError(error)
      const message = `answering a request to ${subject} failed`
      const fault = new ServiceError('internal_error', { message, cause: error })
      report(fault)
      return encodeError(fault)
    } finally {
      inFlight--
    }
  }
}

function encodeError(error: ServiceError): string {
  const { code, message, details } = error
  return JSON.stringify({ error: { code, message, ...(details === undefined ? {} : { details }) } })
}

/** The answer in a reply. @throws ServiceError what the handler threw; `internal_error` for a reply that cannot be read. */
export function readReply(subject: string, replyText: string): Json {
  let reply: z.infer<typeof replySchema>
  try {
    reply = replySchema.parse(JSON.parse(replyText))
  } catch (cause) {
    throw new ServiceError('internal_error', { message: `the reply from ${subject} cannot be read`, cause })
  }
  if ('body' in reply) return reply.body
  const { code, message, details } = reply.error
  throw new ServiceError(code, { message, ...(details === undefined ? {} : { details }) })
}

export const unavailable = (message: string, cause?: unknown): ServiceError =>
  new ServiceError('dependency_unavailable', { message, cause })

/** Told at once, so that nobody waits for an answer that cannot come. */
export const nobodyAnswersError = (subject: string): ServiceError =>
  new ServiceError('dependency_unavailable', {
    message: `nobody answers requests to ${subject}`,
    details: { isServed: false },
  })

/** The result of some work, or `dependency_unavailable` once the time is over; the work itself goes on. */
export const withinTime = <Result>(work: Promise<Result>, timeoutMs: number, what: string): Promise<Result> =>
  withTimeout(work, timeoutMs, () => unavailable(`${what} was not answered within ${timeoutMs} ms`))
