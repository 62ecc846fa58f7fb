import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { callbackify } from 'node:util'
import { buildConnector } from 'undici'
import { isServiceError, type ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { urlRefusedError } from './check-url.ts'
import type { EgressGuard } from './egress-guard.ts'

export interface GuardedConnectorOptions {
  readonly guard: Pick<EgressGuard, 'admits' | 'addressesOf'>
  /** For resolving, connecting and the handshake together; milliseconds. */
  readonly connectMs?: number | undefined
  /** Certificates of authorities, in PEM, besides those that Node.js knows; undefined for none. */
  readonly authorities?: readonly string[] | undefined
}

/**
 * Connects to where the guard lets, and says so before a byte is sent: addresses that are written in the URL are
 * checked here, since no name is looked up for them; names by all their addresses; and the connection by its other
 * end, in case anything in between chose another. Certificates are verified in every environment.
 */
export function createGuardedConnector(options: GuardedConnectorOptions): buildConnector.connector {
  const { guard, connectMs = LIMITS.webhookConnectMs, authorities } = options
  const secure = buildConnector({
    allowH2: false,
    timeout: connectMs,
    rejectUnauthorized: true,
    ...(authorities !== undefined && { ca: [...authorities] }),
  })
  const lookup = guardedLookup(guard)

  return (target, callback) => {
    const { hostname, protocol, port } = target
    const isSecure = protocol === 'https:'
    if (isIP(hostname) !== 0 && !guard.admits(hostname)) {
      queueMicrotask(() => callback(urlRefusedError(`The address ${hostname} is not a public one.`), null))
      return
    }
    const socket = connect({
      host: hostname,
      port: port === '' ? (isSecure ? 443 : 80) : Number(port),
      lookup,
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
      if (error === null) {
        callback(null, connected)
        return
      }
      socket.destroy()
      callback(error, null)
    }
    const fail = (error: Error): void => finish(error, null)
    socket.on('error', fail)
    // A lookup that ends after the time, or a socket that is destroyed without an error, must end this too.
    socket.once('close', () => fail(new Error('the connection was closed')))
    socket.once('connect', () => {
      if (!isAdmittedEnd(socket, guard))
        fail(urlRefusedError('The connection led to an address that is not a public one.'))
      else if (isSecure) secure({ ...target, httpSocket: socket }, finish)
      else finish(null, socket)
    })
  }
}

const isAdmittedEnd = ({ remoteAddress }: Socket, guard: Pick<EgressGuard, 'admits'>): boolean =>
  remoteAddress !== undefined && guard.admits(remoteAddress)

/** Gives a connection the checked addresses of a name, or the refusal. */
function guardedLookup(guard: Pick<EgressGuard, 'addressesOf'>): LookupFunction {
  const addressesOf = callbackify(guard.addressesOf)
  return (hostname, { all = false }, callback) => {
    addressesOf(hostname, (error, addresses) => {
      const [first] = addresses ?? []
      if (error !== null || first === undefined) callback(error, [])
      else if (all) callback(null, [...addresses])
      else callback(null, first.address, first.family)
    })
  }
}

/** Whether a connection failed because it was refused, also where several addresses were tried. */
export const refusalIn = (error: unknown): ServiceError | undefined => {
  if (isServiceError(error, 'url_refused')) return error
  return error instanceof AggregateError
    ? error.errors.map(refusalIn).find((one) => one !== undefined)
    : undefined
}
