import type { JetStreamClient, JetStreamManager } from 'nats'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Clock } from '../async/clock.ts'
import { BUS_ACK_WAIT_MS, type Bus, type BusHealth, type ReportFault } from './bus.ts'
import { type NatsLink, openNatsLink } from './nats-connection.ts'
import { createNatsConsumers } from './nats-consume.ts'
import { createNatsPublish } from './nats-publish.ts'
import { createNatsRequests } from './nats-requests.ts'
import { ensureSignalStream, type NatsNames, natsNames } from './nats-stream.ts'
import { withinTime } from './within-time.ts'

const PUBLISH_TIMEOUT_MS = 5_000
const STREAM_REQUEST_TIMEOUT_MS = 5_000
const HEALTH_TIMEOUT_MS = 1_000
const CLOSE_TIMEOUT_MS = 2_000

export interface NatsBusOptions extends Pick<Clock, 'now'> {
  /** `nats://[user:password@|token@]host:port`, or several with commas between; `tls://` for TLS. */
  readonly url: string
  /** Tells the log of these processes from every other: processes of another log on the same server are not met. */
  readonly logId: string
  /** Uniform in [0, 1); spreads reconnects. */
  readonly random: () => number
  readonly report: ReportFault
  readonly ackWaitMs?: number
  /** How long a publish may take, outages included. */
  readonly publishTimeoutMs?: number
}

/**
 * The bus over NATS JetStream, for nats-server 2.9 and later: published messages are kept in a stream of the log,
 * every consumer name has a durable pull consumer per subject pattern, and requests go over plain NATS. Rides out
 * restarts of the server.
 *
 * @throws ServiceError `bus_unavailable` when the server or its JetStream is not there at the start,
 *   `config_invalid` for a URL that is none.
 * @example
 * const bus = await openNatsBus({ url: 'nats://127.0.0.1:4222', logId, now: Date.now, random: Math.random, report })
 */
export async function openNatsBus(options: NatsBusOptions): Promise<Bus> {
  const { now, random, report, ackWaitMs = BUS_ACK_WAIT_MS, publishTimeoutMs = PUBLISH_TIMEOUT_MS } = options
  const names = natsNames(options.logId)
  const link = await openNatsLink(options)
  const { manager, client } = await openJetStream(link, names)
  const ensureStream = () => ensureSignalStream(manager, names)
  const publish = createNatsPublish({ link, client, names, now, timeoutMs: publishTimeoutMs, ensureStream })
  const requests = createNatsRequests({ link, names, report })
  const closing = new AbortController()
  const source = { link, client, manager, names, ackWaitMs, now, random, report, closing: closing.signal }
  const consumers = createNatsConsumers(source)
  let closed: Promise<void> | undefined

  function checkOpen(): void {
    if (closing.signal.aborted) throw new ServiceError('bus_unavailable', { message: 'the bus is closed' })
  }

  return {
    async publish(message) {
      checkOpen()
      return publish(message)
    },
    consume(consumeOptions) {
      checkOpen()
      return consumers.consume(consumeOptions)
    },
    async request(subject, body, requestOptions) {
      checkOpen()
      return requests.request(subject, body, requestOptions)
    },
    serve(subject, handler, { signal }) {
      checkOpen()
      requests.serve(subject, handler, { signal: AbortSignal.any([signal, closing.signal]) })
    },
    health: () => checkHealth(link, manager, names),
    close() {
      closing.abort()
      closed ??= closeLink(link, async () => {
        await consumers.finish()
        await requests.finish()
      })
      return closed
    },
  }
}

async function openJetStream(
  link: NatsLink,
  names: NatsNames,
): Promise<{ readonly manager: JetStreamManager; readonly client: JetStreamClient }> {
  const streamOptions = { timeout: STREAM_REQUEST_TIMEOUT_MS, checkAPI: false }
  try {
    const manager = await link.connection.jetstreamManager(streamOptions)
    await ensureSignalStream(manager, names)
    return { manager, client: link.connection.jetstream(streamOptions) }
  } catch (error) {
    await link.connection.close()
    if (error instanceof ServiceError) throw error
    const reason = reasonOf(error)
    throw new ServiceError('bus_unavailable', {
      message: `NATS at ${link.hosts} cannot keep messages: ${reason}; is JetStream enabled (nats-server -js)?`,
      cause: error,
    })
  }
}

async function checkHealth(
  link: NatsLink,
  manager: JetStreamManager,
  { stream }: NatsNames,
): Promise<BusHealth> {
  const adapter = 'nats'
  if (link.connection.isClosed()) return { ok: false, adapter, detail: 'closed' }
  if (!link.isUp()) return { ok: false, adapter, detail: `lost ${link.hosts}; reconnecting` }
  try {
    const look = manager.streams.info(stream)
    const { state } = await withinTime(look, HEALTH_TIMEOUT_MS, `the stream ${stream}`)
    const detail = `${link.hosts}, ${state.messages} messages kept in ${stream}`
    return { ok: true, adapter, detail, version: link.connection.info?.version }
  } catch (error) {
    return { ok: false, adapter, detail: reasonOf(error) }
  }
}

/** Sends what is under way, if the server is there to take it, and closes in any case. */
async function closeLink(link: NatsLink, finishWork: () => Promise<void>): Promise<void> {
  const { connection } = link
  const drain = async (): Promise<void> => {
    await finishWork()
    if (link.isUp() && !connection.isClosed()) await connection.drain()
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
