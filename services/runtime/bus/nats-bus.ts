import { ErrorCode, type Msg, NatsError } from 'nats'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Bus, BusHealth } from './bus.ts'
import {
  answerRequests,
  createBusGate,
  encodeBody,
  nobodyAnswersError,
  readReply,
  unavailable,
  withinTime,
} from './bus-messages.ts'
import { type NatsLink, type NatsLinkOptions, openNatsLink } from './nats-connection.ts'

const HEALTH_TIMEOUT_MS = 1_000
const CLOSE_TIMEOUT_MS = 2_000
const LOG_ID = /^[A-Za-z0-9-]{1,64}$/
/** All who serve a subject are one queue group, so that a request goes to one of them. */
const SERVERS = 'servers'

export interface NatsBusOptions extends NatsLinkOptions {
  /** Names the log of these processes. Processes of another log on the same server use other subjects. */
  readonly logId: string
}

/**
 * The bus over core NATS, for nats-server 2.9 and later. The server stores nothing, so it needs no JetStream. Subjects
 * carry the id of the log: `signal-service.<log>.notify.signals`. Rides out restarts of the server. @throws ServiceError
 * `dependency_unavailable` when the server is not there at the start, `config_invalid` for a bad URL.
 */
export async function openNatsBus(options: NatsBusOptions): Promise<Bus> {
  const { logId, report } = options
  if (!LOG_ID.test(logId))
    throw new ServiceError('internal_error', { message: `the log id ${JSON.stringify(logId)} is invalid` })
  const link = await openNatsLink(options)
  const { connection } = link
  // Verdicts, questions and answers of another deployment belong to a log that these processes have never seen.
  const named = (use: 'notify' | 'request', subject: string): string =>
    `signal-service.${logId}.${use}.${subject}`
  const gate = createBusGate()
  const underWay = new Set<Promise<void>>()
  let closed: Promise<void> | undefined

  const fail = (what: string, cause: unknown): void =>
    report(unavailable(`${what} failed: ${reasonOf(cause)}`, cause))

  function follow(answering: Promise<void>, subject: string): void {
    const work = answering
      .catch((error: unknown) => fail(`answering a request to ${subject}`, error))
      .finally(() => underWay.delete(work))
    underWay.add(work)
  }

  return {
    async notify(subject) {
      gate.check(subject)
      link.requireUp()
      connection.publish(named('notify', subject))
    },
    listen(subject, listener, { signal }) {
      gate.check(subject)
      if (signal.aborted) return
      const subscription = connection.subscribe(named('notify', subject), {
        callback: (error) => (error === null ? listener() : fail(`listening to ${subject}`, error)),
      })
      gate.onEnd(signal, () => subscription.unsubscribe())
    },
    async request(subject, body, { timeoutMs }) {
      gate.check(subject)
      const text = encodeBody(subject, body)
      link.requireUp()
      const asking = connection.request(named('request', subject), text, { timeout: timeoutMs })
      const reply = await asking.catch((error: unknown) => {
        throw requestError(subject, timeoutMs, error)
      })
      return readReply(subject, reply.string())
    },
    serve(subject, handler, { signal }) {
      gate.check(subject)
      if (signal.aborted) return
      const answer = answerRequests(subject, handler, report)
      const respond = async (request: Msg): Promise<void> => {
        const reply = await answer(request.string())
        if (!connection.isClosed()) request.respond(reply)
      }
      const subscription = connection.subscribe(named('request', subject), {
        queue: SERVERS,
        callback: (error, request) =>
          error === null ? follow(respond(request), subject) : fail(`serving ${subject}`, error),
      })
      gate.onEnd(signal, () => {
        if (connection.isClosed()) return
        subscription.drain().catch((error: unknown) => fail('ending to serve requests', error))
      })
    },
    health: () => checkHealth(link),
    close() {
      gate.close()
      closed ??= closeLink(link, underWay)
      return closed
    },
  }
}

function requestError(subject: string, timeoutMs: number, cause: unknown): ServiceError {
  const code = cause instanceof NatsError ? cause.code : undefined
  if (code === ErrorCode.NoResponders) return nobodyAnswersError(subject)
  if (code === ErrorCode.Timeout)
    return unavailable(`the request to ${subject} was not answered within ${timeoutMs} ms`, cause)
  return unavailable(`the request to ${subject} failed: ${reasonOf(cause)}`, cause)
}

/** Asks the server for a round trip, which also shows that it took every subscription made before. */
async function checkHealth({ connection, hosts, isUp }: NatsLink): Promise<BusHealth> {
  const adapter = 'nats'
  if (connection.isClosed()) return { ok: false, adapter, detail: 'closed' }
  if (!isUp()) return { ok: false, adapter, detail: `lost ${hosts}; reconnecting` }
  try {
    await withinTime(connection.flush(), HEALTH_TIMEOUT_MS, `NATS at ${hosts}`)
    return { ok: true, adapter, detail: hosts, version: connection.info?.version }
  } catch (error) {
    return { ok: false, adapter, detail: reasonOf(error) }
  }
}

/** Lets answers under way leave while the server takes them, and closes after {@link CLOSE_TIMEOUT_MS} in any case. */
async function closeLink({ connection, isUp }: NatsLink, underWay: Iterable<Promise<void>>): Promise<void> {
  const drain = async (): Promise<void> => {
    await Promise.all(underWay)
    if (isUp()) await connection.drain()
  }
  const { promise: timeIsUp, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS)
  try {
    await Promise.race([drain(), timeIsUp])
  } finally {
    clearTimeout(timer)
    await connection.close()
  }
}
