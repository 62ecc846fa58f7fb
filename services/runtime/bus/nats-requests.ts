import { ErrorCode, type Msg, NatsError, type Subscription } from 'nats'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { BusRequests, ReportFault } from './bus.ts'
import { encodeBody } from './message-body.ts'
import type { NatsLink } from './nats-connection.ts'
import { answerRequests, nobodyAnswersError, readReply } from './request-answering.ts'

/** All who serve a subject are one queue group, so that a request goes to one of them. */
const SERVERS = 'servers'

/** Requests and answers over core NATS. */
export function createNatsRequests(options: {
  readonly link: NatsLink
  /** Begins every subject on the server. */
  readonly prefix: string
  readonly report: ReportFault
}): BusRequests {
  const { link, prefix, report } = options
  const { connection } = link
  const subjectOf = (subject: string): string => prefix + subject
  const underWay = new Set<Promise<void>>()

  function follow(answering: Promise<void>, subject: string): void {
    const work = answering
      .catch((cause: unknown) => report(servingError(`answering a request to ${subject}`, cause)))
      .finally(() => underWay.delete(work))
    underWay.add(work)
  }

  function stopServing(subscription: Subscription): void {
    if (connection.isClosed()) return
    subscription.drain().catch((error: unknown) => report(servingError('ending to serve requests', error)))
  }

  return {
    async request(subject, body, { timeoutMs }) {
      const text = encodeBody(subject, body)
      link.requireUp()
      const reply = await connection
        .request(subjectOf(subject), text, { timeout: timeoutMs })
        .catch((error: unknown) => {
          throw requestError(subject, timeoutMs, error)
        })
      return readReply(subject, reply.string())
    },

    serve(subject, handler, { signal }) {
      if (signal.aborted) return
      const answer = answerRequests(subject, handler, report)
      const respond = async (request: Msg): Promise<void> => {
        const reply = await answer(request.string())
        if (!connection.isClosed()) request.respond(reply)
      }
      const subscription = connection.subscribe(subjectOf(subject), {
        queue: SERVERS,
        callback(error, request) {
          if (error !== null) {
            report(servingError(`serving ${subject}`, error))
            return
          }
          follow(respond(request), subject)
        },
      })
      signal.addEventListener('abort', () => stopServing(subscription), { once: true })
    },

    async finish() {
      await Promise.all(underWay)
    },
  }
}

function servingError(what: string, cause: unknown): ServiceError {
  const reason = reasonOf(cause)
  return new ServiceError('dependency_unavailable', { message: `${what} failed: ${reason}`, cause })
}

function requestError(subject: string, timeoutMs: number, cause: unknown): ServiceError {
  const code = cause instanceof NatsError ? cause.code : undefined
  const reason = reasonOf(cause)
  if (code === ErrorCode.NoResponders) return nobodyAnswersError(subject, cause)
  const message =
    code === ErrorCode.Timeout
      ? `the request to ${subject} was not answered within ${timeoutMs} ms`
      : `the request to ${subject} failed: ${reason}`
  return new ServiceError('dependency_unavailable', { message, cause })
}
