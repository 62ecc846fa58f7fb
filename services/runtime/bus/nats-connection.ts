import { type ConnectionOptions, connect, Events, type NatsConnection, type TlsOptions } from 'nats'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Clock } from '../async/clock.ts'
import type { ReportFault } from './bus.ts'

const CONNECT_TIMEOUT_MS = 5_000
/** A server that does not answer two of these is taken for gone. */
const PING_INTERVAL_MS = 10_000
const RECONNECT_FLOOR_MS = 100
const RECONNECT_CEILING_MS = 5_000

export interface NatsLinkOptions extends Pick<Clock, 'now'> {
  /** `nats://[user:password@|token@]host:port`, or several with commas between; `tls://` for TLS. */
  readonly url: string
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly report: ReportFault
}

export type NatsLink = Awaited<ReturnType<typeof openNatsLink>>

/**
 * A connection that comes back by itself for as long as it is not closed.
 *
 * Connects, and from then on reconnects for ever, waiting longer the longer the outage lasts. @throws ServiceError
 * `dependency_unavailable` when the first connection fails, `config_invalid` for a bad URL.
 */
export async function openNatsLink({ url, now, random, report }: NatsLinkOptions) {
  const { hosts, ...server } = readUrl(url)
  let downSinceMs: number | undefined
  const reconnectDelayMs = (): number => {
    const outageMs = downSinceMs === undefined ? 0 : now() - downSinceMs
    const backoffMs = Math.min(RECONNECT_CEILING_MS, Math.max(RECONNECT_FLOOR_MS, outageMs / 4))
    return backoffMs * (0.5 + random())
  }
  const connection = await connectFirst(server, hosts, reconnectDelayMs)

  async function watch(): Promise<void> {
    for await (const status of connection.status()) {
      // Every failed attempt to reconnect is one more disconnect; the first tells it all.
      if (status.type === Events.Disconnect && downSinceMs === undefined) {
        downSinceMs = now()
        report(new ServiceError('dependency_unavailable', { message: `lost NATS at ${hosts}; reconnecting` }))
      } else if (status.type === Events.Reconnect) {
        downSinceMs = undefined
      } else if (status.type === Events.Error) {
        const message = `NATS at ${hosts} reports ${JSON.stringify(status.data)}`
        report(new ServiceError('dependency_unavailable', { message }))
      }
    }
  }
  watch().catch((error: unknown) => {
    report(
      new ServiceError('internal_error', { message: 'watching the NATS connection failed', cause: error }),
    )
  })

  const isUp = (): boolean => downSinceMs === undefined && !connection.isClosed()
  return {
    connection,
    /** The servers without credentials, for messages. */
    hosts,
    isUp,
    /** @throws ServiceError `dependency_unavailable` while the connection is lost. */
    requireUp() {
      if (isUp()) return
      throw new ServiceError('dependency_unavailable', { message: `NATS at ${hosts} is not connected` })
    },
  }
}

async function connectFirst(
  server: ConnectionOptions,
  hosts: string,
  reconnectDelayMs: () => number,
): Promise<NatsConnection> {
  try {
    return await connect({
      ...server,
      name: 'signal-service',
      timeout: CONNECT_TIMEOUT_MS,
      pingInterval: PING_INTERVAL_MS,
      maxReconnectAttempts: -1,
      // Otherwise a server that refuses the credentials twice, say while it is set up anew, ends it all.
      ignoreAuthErrorAbort: true,
      reconnectDelayHandler: reconnectDelayMs,
      noAsyncTraces: true,
    })
  } catch (error) {
    const reason = reasonOf(error)
    const message = `no connection to NATS at ${hosts}: ${reason}`
    throw new ServiceError('dependency_unavailable', { message, cause: error })
  }
}

/** The client does not read credentials from a URL, so they are taken out here. */
function readUrl(url: string): ConnectionOptions & { readonly hosts: string } {
  const servers = url.split(',').map((part) => (URL.canParse(part.trim()) ? new URL(part.trim()) : undefined))
  const first = servers[0]
  const usable = servers.every((server) => /^(?:nats|tls):$/.test(server?.protocol ?? '') && server?.hostname)
  if (first === undefined || !usable) {
    throw new ServiceError('config_invalid', {
      message: 'NATS_URL is not nats://host:port or tls://host:port, or several of them with commas between',
    })
  }
  const addresses = servers.map((server) => `${server?.hostname}:${server?.port || 4222}`)
  const user = decodeURIComponent(first.username)
  const password = decodeURIComponent(first.password)
  // A certificate is compared with the name of the server, or with this where it has an address alone.
  const tls: TlsOptions & { readonly host: string } = { host: first.hostname }
  return {
    servers: addresses,
    hosts: addresses.join(', '),
    ...(first.protocol === 'tls:' ? { tls } : {}),
    ...(password !== '' ? { user, pass: password } : user === '' ? {} : { token: user }),
  }
}
