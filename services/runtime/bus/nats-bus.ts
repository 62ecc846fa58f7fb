import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Bus, BusHealth } from './bus.ts'
import { type NatsLink, type NatsLinkOptions, openNatsLink } from './nats-connection.ts'
import { createNatsRequests } from './nats-requests.ts'
import { withinTime } from './request-answering.ts'
import { checkSubject } from './subjects.ts'

const HEALTH_TIMEOUT_MS = 1_000
const CLOSE_TIMEOUT_MS = 2_000
const LOG_ID = /^[A-Za-z0-9-]{1,64}$/

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
  const prefix = prefixOf(options.logId)
  const link = await openNatsLink(options)
  const { connection } = link
  const requests = createNatsRequests({ link, prefix: `${prefix}request.`, report: options.report })
  const notified = (subject: string): string => `${prefix}notify.${subject}`
  const closing = new AbortController()
  const untilClosed = (signal: AbortSignal): AbortSignal => AbortSignal.any([signal, closing.signal])
  let closed: Promise<void> | undefined

  function check(subject: string): void {
    if (closing.signal.aborted)
      throw new ServiceError('dependency_unavailable', { message: 'the bus is closed' })
    checkSubject(subject)
  }

  return {
    async notify(subject) {
      check(subject)
      link.requireUp()
      connection.publish(notified(subject))
    },
    listen(subject, listener, { signal }) {
      check(subject)
      if (signal.aborted) return
      const subscription = connection.subscribe(notified(subject), {
        callback(error) {
          if (error === null) listener()
          else options.report(listeningError(subject, error))
        },
      })
      untilClosed(signal).addEventListener('abort', () => subscription.unsubscribe(), { once: true })
    },
    async request(subject, body, requestOptions) {
      check(subject)
      return requests.request(subject, body, requestOptions)
    },
    serve(subject, handler, { signal }) {
      check(subject)
      requests.serve(subject, handler, { signal: untilClosed(signal) })
    },
    health: () => checkHealth(link),
    close() {
      closing.abort()
      closed ??= closeLink(link, () => requests.finish())
      return closed
    },
  }
}

/** Verdicts, questions and answers of another deployment belong to a log that these processes have never seen. */
function prefixOf(logId: string): string {
  if (LOG_ID.test(logId)) return `signal-service.${logId}.`
  throw new ServiceError('internal_error', { message: `the log id ${JSON.stringify(logId)} is invalid` })
}

function listeningError(subject: string, cause: unknown): ServiceError {
  const message = `listening to ${subject} failed: ${reasonOf(cause)}`
  return new ServiceError('dependency_unavailable', { message, cause })
}

/** Asks the server for a round trip, which also shows that it took every subscription made before. */
async function checkHealth(link: NatsLink): Promise<BusHealth> {
  const { connection, hosts } = link
  const adapter = 'nats'
  if (connection.isClosed()) return { ok: false, adapter, detail: 'closed' }
  if (!link.isUp()) return { ok: false, adapter, detail: `lost ${hosts}; reconnecting` }
  try {
    await withinTime(connection.flush(), HEALTH_TIMEOUT_MS, `NATS at ${hosts}`)
    return { ok: true, adapter, detail: hosts, version: connection.info?.version }
  } catch (error) {
    return { ok: false, adapter, detail: reasonOf(error) }
  }
}

/** Lets answers under way leave while the server takes them, and closes after {@link CLOSE_TIMEOUT_MS} in any case. */
async function closeLink(link: NatsLink, finishWork: () => Promise<void>): Promise<void> {
  const { connection } = link
  const drain = async (): Promise<void> => {
    await finishWork()
    if (link.isUp()) await connection.drain()
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
