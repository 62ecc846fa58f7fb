import { isIP, type LookupFunction, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { createSecureContext } from 'node:tls'
import { callbackify } from 'node:util'
import type { Agent, buildConnector } from 'undici'
import { isServiceError, type ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { urlRefusedError } from './check-url.ts'
import type { EgressGuard } from './egress-guard.ts'
import { loadUndici } from './load-undici.ts'
import type { NameAddress } from './resolve-name.ts'

export interface GuardedAgentOptions {
  readonly guard: Pick<EgressGuard, 'admits' | 'addressesOf'>
  /** For resolving and connecting, and as much for the handshake; milliseconds. */
  readonly connectMs?: number | undefined
  /** Certificates of authorities, in PEM, besides those that Node.js knows; undefined for none. */
  readonly authorities?: readonly string[] | undefined
  readonly connectionsPerOrigin?: number | undefined
  /** Called with each new connection. */
  readonly onConnect?: (origin: string, socket: Socket) => void
}

/**
 * A client of HTTP/1.1 that connects only to where the guard lets, over kept connections. No proxy of the environment,
 * no cookies, no redirects, no compression.
 */
export function createGuardedAgent(options: GuardedAgentOptions): Agent {
  const { connectionsPerOrigin: connections = LIMITS.webhookConnectionsPerOrigin } = options
  return new (loadUndici().Agent)({
    connect: createGuardedConnector(options),
    connections,
    // An endpoint that never answers would hold up what stands behind it.
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: LIMITS.webhookIdleMs,
    keepAliveMaxTimeout: LIMITS.webhookIdleMostMs,
    maxHeaderSize: LIMITS.webhookResponseHeaderBytes,
    // The caller bounds all of a request; these would not bound one whose answer drips.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

/**
 * Connects to where the guard lets, and checks that before a byte is sent: addresses that are written in the URL are
 * checked here, since no name is looked up for them; names by all their addresses; and the connection by its other
 * end, in case anything in between chose another. Certificates are verified in every environment.
 */
export function createGuardedConnector(options: GuardedAgentOptions): buildConnector.connector {
  const { guard, connectMs: timeout = LIMITS.webhookConnectMs, authorities, onConnect } = options
  const { buildConnector } = loadUndici()
  const addressesOf = callbackify(guard.addressesOf)
  const lookup = guardedLookup(addressesOf)
  // Node.js would give each address but the last 250 ms.
  const connectPlain = buildConnector({ timeout, lookup, autoSelectFamilyAttemptTimeout: timeout / 2 })
  const connectSecure = buildConnector({
    timeout,
    allowH2: false,
    maxCachedSessions: LIMITS.webhookOrigins,
    rejectUnauthorized: true,
    // One for all, since making one costs as much as a handshake.
    secureContext: createSecureContext(authorities && { ca: [...authorities] }),
  })

  function open(target: buildConnector.Options, callback: buildConnector.Callback): void {
    const isSecure = target.protocol === 'https:'
    const port = target.port === '' ? (isSecure ? '443' : '80') : target.port
    connectPlain({ ...target, protocol: 'http:', port }, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      if (!guard.admits(socket.remoteAddress ?? '')) {
        socket.destroy()
        return callback(urlRefusedError('The connection led to an address that is not a public one.'), null)
      }
      onConnect?.(`${target.protocol}//${target.host}`, socket)
      if (isSecure) connectSecure({ ...target, httpSocket: socket }, callback)
      else callback(null, socket)
    })
  }

  return (target, callback) => {
    if (isIP(target.hostname) === 0) return open(target, callback)
    // No name is looked up for an address, so that it is checked here.
    addressesOf(target.hostname, (error) => (error === null ? open(target, callback) : callback(error, null)))
  }
}

type GivesAddresses = (
  hostname: string,
  callback: (error: Error | null, addresses: readonly NameAddress[]) => void,
) => void

/** Gives a connection the checked addresses of a name, or the refusal. */
function guardedLookup(addressesOf: GivesAddresses): LookupFunction {
  return (hostname, { all = false }, callback) => {
    addressesOf(hostname, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null || first === undefined) callback(error, [])
      else if (all) callback(null, reachable(addresses ?? []))
      else callback(null, first.address, first.family)
    })
  }
}

/** Without the family that this machine has no address of, as long as another one is left. */
function reachable(addresses: readonly NameAddress[]): NameAddress[] {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const isOwn = ({ family }: NameAddress): boolean =>
    own.some((one) => one.family === `IPv${family}` && !one.internal && !one.address.startsWith('fe80:'))
  const left = addresses.filter(isOwn)
  return left.length === 0 ? [...addresses] : left
}

/** Whether a connection failed because it was refused, also where several addresses were tried. */
export const refusalIn = (error: unknown): ServiceError | undefined => {
  if (isServiceError(error, 'url_refused')) return error
  return error instanceof AggregateError
    ? error.errors.map(refusalIn).find((one) => one !== undefined)
    : undefined
}
