import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../runtime/async/clock.ts'
import {
  addressSite,
  isProxyOf,
  normaliseAddress,
  type TrustProxy,
  UNKNOWN_ADDRESS,
} from './client-address.ts'

/** How many connections there may be, and how long they may take. Milliseconds. */
export const CONNECTION_LIMITS = {
  connections: LIMITS.connections,
  connectionsPerAddress: LIMITS.connectionsPerAddress,
  /** For a request to arrive whole, and of that for its headers. */
  requestMs: LIMITS.requestArrivalMs,
  headersMs: LIMITS.requestHeadersMs,
  /** How often requests are looked at that do not arrive, and readers that do not read. */
  lookEveryMs: LIMITS.connectionLookMs,
  /** Within it, somebody who reads an answer takes so many bytes of it. */
  readerMs: LIMITS.readerMs,
  readerBytes: LIMITS.readerBytes,
  /** After this time, a slow sender or reader is closed for a new connection where there is no room. */
  givesWayMs: LIMITS.givesWayMs,
  /** How long a request that is still arriving holds up a shutdown. */
  arrivalGraceMs: LIMITS.arrivalGraceMs,
}

export type ConnectionLimits = Readonly<Record<keyof typeof CONNECTION_LIMITS, number>>

/** The limits that Node checks by itself, and those that Fastify hands on to it. */
export const serverTimeouts = ({ requestMs, headersMs, lookEveryMs }: ConnectionLimits) =>
  ({
    requestTimeout: requestMs,
    connectionTimeout: LIMITS.connectionSilentMs,
    keepAliveTimeout: LIMITS.connectionIdleMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: lookEveryMs },
  }) as const

/** One connection, and how its reader gets on. */
interface Connection {
  request: IncomingMessage | undefined
  /** When its headers were there. */
  begunAt: number
  /** Bytes the reader had taken when it was last seen to take enough, and when that was. */
  taken: number
  takenAt: number
}

export interface UseConnectionLimitsOptions extends Pick<Clock, 'now'> {
  readonly limits: ConnectionLimits
  readonly trustProxy: TrustProxy | undefined
  /** Aborted once the server closes. */
  readonly closing: AbortController
}

/**
 * Keeps the connections of a server within its limits, so that nobody who holds many of them, sends slowly or does
 * not read keeps others out:
 * - past the largest number, the one that has been idle longest is closed for a new one, or one that sends or reads too
 *   slowly;
 * - one address, or IPv6 site, has so many; proxies that are trusted have as many as they need;
 * - who has asked for more than fits the buffers and takes too little of it is cut off;
 * - a shutdown ends idle connections at once, the others as soon as they have their answers, and does not wait for
 *   requests that are not there yet.
 */
export function useConnectionLimits(app: FastifyInstance, options: UseConnectionLimitsOptions): void {
  const { limits, closing, now } = options
  const open = new Map<Socket, Connection>()
  /** Connections without a request in flight, the longest idle first. */
  const idle = new Set<Socket>()
  const sites = createSiteCounts(limits.connectionsPerAddress)
  const isTrusted = isProxyOf(options.trustProxy)

  function siteOf({ remoteAddress = '' }: Socket): string | undefined {
    const address = normaliseAddress(remoteAddress) ?? UNKNOWN_ADDRESS
    return isTrusted(address) ? undefined : addressSite(address)
  }

  function hasRoom(): boolean {
    if (open.size < limits.connections) return true
    const [givesWay = firstSlow()] = idle
    givesWay?.destroy()
    return givesWay !== undefined
  }

  function firstSlow(): Socket | undefined {
    const since = now() - limits.givesWayMs
    for (const [socket, { request, begunAt, takenAt }] of open) {
      if (request?.complete === false ? begunAt <= since : socket.writableLength > 0 && takenAt <= since) {
        return socket
      }
    }
    return undefined
  }

  app.server.on('connection', (socket: Socket) => {
    const site = siteOf(socket)
    if (!sites.hasRoom(site) || !hasRoom()) {
      socket.destroy()
      return
    }
    open.set(socket, { request: undefined, begunAt: 0, taken: 0, takenAt: now() })
    idle.add(socket)
    sites.add(site, 1)
    socket.once('close', () => {
      open.delete(socket)
      idle.delete(socket)
      sites.add(site, -1)
    })
  })
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const connection = open.get(socket)
    if (connection === undefined) return
    connection.request = request
    connection.begunAt = now()
    idle.delete(socket)
    response.once('close', () => {
      // The next request of a pipeline may be under way already.
      if (connection.request !== request) return
      connection.request = undefined
      if (closing.signal.aborted) socket.destroySoon()
      else if (!socket.destroyed) idle.add(socket)
    })
  })

  const looking = setInterval(() => {
    for (const [socket, connection] of open) {
      if (isReaderGone(socket, connection, limits, now())) socket.destroy()
    }
  }, limits.lookEveryMs).unref()

  app.addHook('preClose', async () => {
    closing.abort()
    for (const socket of idle) socket.destroy()
    setTimeout(() => {
      for (const [socket, { request }] of open) if (request?.complete === false) socket.destroy()
    }, limits.arrivalGraceMs).unref()
  })
  app.addHook('onClose', async () => clearInterval(looking))
}

/** Connections by site; those of no site, as a trusted proxy's are, are not limited. */
function createSiteCounts(most: number) {
  const counts = new Map<string, number>()
  return {
    hasRoom: (site: string | undefined): boolean => site === undefined || (counts.get(site) ?? 0) < most,
    add(site: string | undefined, change: 1 | -1): void {
      if (site === undefined) return
      const count = (counts.get(site) ?? 0) + change
      if (count === 0) counts.delete(site)
      else counts.set(site, count)
    },
  }
}

/**
 * Whether an answer has waited too long for its reader: something of it lies in this process, because the buffers
 * of the connection are full, and less than enough has gone out for a while.
 */
function isReaderGone(
  socket: Socket,
  connection: Connection,
  { readerMs, readerBytes }: ConnectionLimits,
  now: number,
): boolean {
  const taken = socket.bytesWritten - socket.writableLength
  if (socket.writableLength === 0 || taken - connection.taken >= readerBytes) {
    connection.taken = taken
    connection.takenAt = now
    return false
  }
  return now - connection.takenAt >= readerMs
}
