import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import {
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  DEFAULT_ECDH_CURVE,
  type DetailedPeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls'
import { callbackify } from 'node:util'
import type { buildConnector } from 'undici'
import { isServiceError, type ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { urlRefusedError } from './check-url.ts'
import type { EgressGuard } from './egress-guard.ts'
import type { NameAddress } from './resolve-name.ts'

export interface GuardedConnectorOptions {
  readonly guard: Pick<EgressGuard, 'admits' | 'addressesOf'>
  /** For resolving, connecting and the handshake together; milliseconds. */
  readonly connectMs?: number | undefined
  /** Certificates of authorities, in PEM, besides those that Node.js knows; undefined for none. */
  readonly authorities?: readonly string[] | undefined
  /** Unix milliseconds: TLS sessions are kept by it, and none without it. */
  readonly now?: (() => number) | undefined
}

/** A session, and until when it may resume connections: then the certificate is verified in whole again. */
interface KeptSession {
  readonly session: Buffer
  readonly until: number
}

/** Bytes of the longest session that is kept, so that no receiver takes the room of thousands. */
const LONGEST_SESSION = LIMITS.webhookTlsSessionBytes / 4_096

/**
 * Groups of keys for a resumed connection. Its secret is derived from that of the whole handshake, which is post-quantum
 * where the receiver knows it. A second such exchange adds nothing, and costs a fifth of the connection.
 */
const RESUMING_GROUPS = 'X25519:P-256:P-384'

/** Names of a certificate that are plain; Node.js decides over all others. */
const BY_LIST = { subject: 'never', partialWildcards: false } as const
const NOT_COPIED = {} as DetailedPeerCertificate

/**
 * Speaks TLS on connections that were made. All share a context, since making one costs as much as a handshake. A session
 * belongs to one host and port, where its certificate was verified. It ends with that certificate, or with the day.
 */
function createTls({ authorities, now }: Pick<GuardedConnectorOptions, 'authorities' | 'now'>) {
  const contexts = new Map<string, SecureContext>()
  const sessions = new RecentMap<string, KeptSession>(Number.POSITIVE_INFINITY, {
    ...(now !== undefined && { now }),
    bytes: { most: LIMITS.webhookTlsSessionBytes, of: (key, { session }) => key.length + session.length },
  })

  function contextOf(ecdhCurve: string): SecureContext {
    const context =
      contexts.get(ecdhCurve) ??
      createSecureContext({ ecdhCurve, ...(authorities && { ca: [...authorities] }) })
    contexts.set(ecdhCurve, context)
    return context
  }

  function keep(key: string, session: Buffer, until: number): void {
    if (now === undefined || session.length > LONGEST_SESSION) return
    const at = now()
    if (until <= at) sessions.delete(key)
    else sessions.set(key, { session, until }, until - at)
  }

  return (socket: Socket, hostname: string, port: string, finish: buildConnector.Callback): void => {
    const key = `${hostname} ${port}`
    const resumed = sessions.get(key)
    // Resuming a session does not prolong it: the certificate would never be verified again.
    let until = resumed?.until ?? 0
    const secure: TLSSocket = connectTls({
      socket,
      host: hostname,
      servername: isIP(hostname) === 0 ? hostname : '',
      session: resumed?.session,
      secureContext: contextOf(resumed === undefined ? DEFAULT_ECDH_CURVE : RESUMING_GROUPS),
      rejectUnauthorized: true,
      checkServerIdentity(host) {
        const certificate = secure.getPeerX509Certificate()
        const validTo = certificate?.validToDate.getTime() ?? 0
        // Where a session was refused, the groups of resumed ones were used: nothing is to be derived from that.
        until = resumed === undefined ? Math.min(validTo, (now?.() ?? 0) + DAY_MS) : 0
        const name = isIP(host) === 0 ? certificate?.checkHost(host, BY_LIST) : certificate?.checkIP(host)
        return name === undefined
          ? checkServerIdentity(host, certificate?.toLegacyObject() ?? NOT_COPIED)
          : undefined
      },
      ALPNProtocols: ['http/1.1'],
    })
    // For the check above Node.js would copy all that is in the certificate, which costs a tenth of the handshake.
    secure.getPeerCertificate = () => NOT_COPIED
    secure.on('session', (session: Buffer) => keep(key, session, until))
    secure.on('error', (error) => finish(error, null))
    secure.once('secureConnect', () => finish(null, secure))
    // The next connection begins anew if resuming failed.
    secure.once('close', () => !secure.authorized && sessions.delete(key))
  }
}

/**
 * Connects to where the guard lets, and says so before a byte is sent: addresses that are written in the URL are
 * checked here, since no name is looked up for them; names by all their addresses; and the connection by its other
 * end, in case anything in between chose another. Certificates are verified in every environment.
 */
export function createGuardedConnector(options: GuardedConnectorOptions): buildConnector.connector {
  const { guard, connectMs = LIMITS.webhookConnectMs } = options
  const secure = createTls(options)
  const addressesOf = callbackify(guard.addressesOf)
  const lookup = guardedLookup(addressesOf)

  function open(
    { hostname, protocol, port }: buildConnector.Options,
    callback: buildConnector.Callback,
  ): void {
    const isSecure = protocol === 'https:'
    const socket = connect({
      host: hostname,
      port: port === '' ? (isSecure ? 443 : 80) : Number(port),
      lookup,
      // Node.js would give each address but the last 250 ms.
      autoSelectFamilyAttemptTimeout: connectMs / 2,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
    })
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection within ${connectMs / 1_000} s`)),
      connectMs,
    )
    let isDone = false
    const finish: buildConnector.Callback = (...[error, connected]) => {
      if (isDone) return
      isDone = true
      clearTimeout(timer)
      if (error === null) return callback(null, connected)
      socket.destroy()
      callback(error, null)
    }
    const fail = (error: Error): void => finish(error, null)
    socket.on('error', fail)
    // A lookup that ends after the time, or a socket that is destroyed without an error, must end this too.
    socket.once('close', () => fail(new Error('the connection was closed')))
    socket.once('connect', () => {
      if (!guard.admits(socket.remoteAddress ?? ''))
        fail(urlRefusedError('The connection led to an address that is not a public one.'))
      else if (isSecure) secure(socket, hostname, port, finish)
      else finish(null, socket)
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
