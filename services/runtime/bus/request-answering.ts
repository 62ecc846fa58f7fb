import { z } from 'zod'
import { ERRORS, type ErrorCode, isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Json } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { withTimeout } from '../async/with-timeout.ts'
import type { ReportFault, RequestHandler } from './bus.ts'
import { decodeBody, encodeBody } from './message-body.ts'

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
      const answer = await handler(decodeBody(requestText))
      return encodeBody(subject, { body: answer })
    } catch (error) {
      if (isServiceError(error)) return encodeError(error)
      const fault = new ServiceError('internal_error', {
        message: `answering a request to ${subject} failed`,
        cause: error,
      })
      report(fault)
      return encodeError(fault)
    } finally {
      inFlight--
    }
  }
}

/** The answer in a reply. @throws ServiceError what the handler threw; `internal_error` for a reply that cannot be read. */
export function readReply(subject: string, replyText: string): Json {
  const reply = replySchema.safeParse(decodeReply(subject, replyText))
  if (!reply.success) throw unreadableError(subject, reply.error)
  if ('body' in reply.data) return reply.data.body
  const { code, message, details } = reply.data.error
  throw new ServiceError(code, { message, ...(details === undefined ? {} : { details }) })
}

function decodeReply(subject: string, replyText: string): Json {
  try {
    return decodeBody(replyText)
  } catch (error) {
    throw unreadableError(subject, error)
  }
}

function encodeError(error: ServiceError): string {
  const { code, message, details } = error
  return JSON.stringify({ error: { code, message, ...(details === undefined ? {} : { details }) } })
}

const unreadableError = (subject: string, cause: unknown): ServiceError =>
  new ServiceError('internal_error', { message: `the reply from ${subject} cannot be read`, cause })

/** Told at once, so that nobody waits for an answer that cannot come. */
export const nobodyAnswersError = (subject: string, cause?: unknown): ServiceError =>
  new ServiceError('dependency_unavailable', {
    message: `nobody answers requests to ${subject}`,
    details: { isServed: false },
    cause,
  })

/** The result of some work, or `dependency_unavailable` once the time is over; the work itself goes on. */
export const withinTime = <Result>(work: Promise<Result>, timeoutMs: number, what: string): Promise<Result> =>
  withTimeout(
    work,
    timeoutMs,
    () =>
      new ServiceError('dependency_unavailable', {
        message: `${what} was not answered within ${timeoutMs} ms`,
      }),
  )
