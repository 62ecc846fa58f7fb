import type { Socket } from 'node:net'
import type { buildConnector, Client } from 'undici'
import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { loadUndici } from './load-undici.ts'

/** Largest answer with all that is read of it: interim answers, headers, body; anything beyond is neither. */
const ANSWER_BYTES = 1_048_576

/**
 * Ends connections that are sent more than any answer has. The client counts headers and bodies. What stands between
 * them it passes over without an end (a reason phrase, the extensions of chunks), so the bytes of the connection itself
 * are looked at: those that came since anything was sent.
 */
function createFloodWatch() {
  /** With the bytes sent and received when the newest request was first seen. */
  const sockets = new Map<Socket, { written: number; read: number }>()
  return {
    get size() {
      return sockets.size
    },
    add(socket: Socket): void {
      sockets.set(socket, { written: socket.bytesWritten, read: socket.bytesRead })
      socket.once('close', () => sockets.delete(socket))
    },
    look(): void {
      for (const [socket, watched] of sockets) {
        if (socket.bytesWritten !== watched.written) {
          watched.written = socket.bytesWritten
          watched.read = socket.bytesRead
        } else if (socket.bytesRead - watched.read > ANSWER_BYTES) {
          socket.destroy(new Error(`more than ${ANSWER_BYTES} bytes that are no answer`))
        }
      }
    },
  }
}

/** A connection to an origin, made anew when it was closed. */
export interface Lane {
  readonly client: Client
  /** How often it was made. */
  connects: number
}

/** A request that wants a connection. */
interface Wanting {
  /** Nobody waits for its answer any more. */
  readonly isOver: boolean
  begin(lane: Lane): void
}

/**
 * Connections to one origin. A request gets the one that was free last, so that those end that are not needed. A pool
 * of the client has none free in the turn of an answer, and would open another one for what follows at once.
 */
export class OriginPool {
  readonly #open: () => Lane
  readonly #most: number
  readonly #lanes: Lane[] = []
  readonly #idle: Lane[] = []
  readonly #waiting: Wanting[] = []

  constructor(open: () => Lane, most: number) {
    this.#open = open
    this.#most = most
  }

  take(request: Wanting): void {
    const idle = this.#idle.pop()
    if (idle !== undefined) return request.begin(idle)
    if (this.#lanes.length >= this.#most) return void this.#waiting.push(request)
    const lane = this.#open()
    this.#lanes.push(lane)
    request.begin(lane)
  }

  /** Gives a connection back once its request is over. */
  free(lane: Lane): void {
    let next = this.#waiting.shift()
    while (next?.isOver === true) next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(lane)
    else next.begin(lane)
  }

  /** Ends all connections once their requests are done; nothing is taken any more. */
  async close(): Promise<void> {
    for (const [index, request] of this.#waiting.splice(0).entries()) {
      const lane = this.#lanes[index % this.#lanes.length]
      if (lane !== undefined) request.begin(lane)
    }
    const end = (lane: Lane): Promise<void> =>
      this.#idle.includes(lane) ? lane.client.destroy(NOT_NEEDED) : lane.client.close()
    await Promise.all(this.#lanes.map(end))
  }
}

/** One for all: the client would make one for each, with its stack. */
const NOT_NEEDED = new Error('the connection is not needed any more')

export interface OriginPoolsOptions {
  readonly connector: buildConnector.connector
  readonly originsKept?: number | undefined
  readonly connectionsPerOrigin?: number | undefined
  readonly connectionsKept?: number | undefined
}

/**
 * Keeps connections open as long as their receivers do, to so many origins and so many in all: past that, those of the
 * origin that was not used for the longest time end with their last request. HTTP/1.1, one request at a time on each, since an endpoint that never answers would hold
 * up what stands behind it.
 */
export function createOriginPools(options: OriginPoolsOptions) {
  const {
    connector,
    originsKept = LIMITS.webhookOrigins,
    connectionsPerOrigin = LIMITS.webhookConnectionsPerOrigin,
    connectionsKept = LIMITS.webhookConnections,
  } = options
  /** Least recently used first. */
  const pools = new Map<string, OriginPool>()
  const closing = new Set<Promise<void>>()
  const floods = createFloodWatch()

  function retire(pool: OriginPool): void {
    const closed = pool.close().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  function retireOldest(): void {
    const [oldest] = pools
    if (oldest === undefined) return
    pools.delete(oldest[0])
    retire(oldest[1])
  }

  function open(origin: string): Lane {
    const lane: Lane = {
      connects: 0,
      client: new (loadUndici().Client)(origin, {
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: LIMITS.webhookIdleMs,
        keepAliveMaxTimeout: LIMITS.webhookIdleMostMs,
        maxHeaderSize: LIMITS.webhookResponseHeaderBytes,
        // One sweep bounds all of a request; these would not bound one whose answer drips.
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: (target, callback) =>
          connector(target, (...outcome) => {
            if (outcome[0] === null) {
              lane.connects += 1
              floods.add(outcome[1])
              if (floods.size > connectionsKept) retireOldest()
            }
            callback(...outcome)
          }),
      }),
    }
    return lane
  }

  return {
    of(origin: string): OriginPool {
      const known = pools.get(origin)
      if (known !== undefined) {
        pools.delete(origin)
        pools.set(origin, known)
        return known
      }
      if (pools.size >= originsKept) retireOldest()
      const opened = new OriginPool(() => open(origin), connectionsPerOrigin)
      pools.set(origin, opened)
      assert(pools.size <= originsKept, 'few origins keep connections', pools.size)
      return opened
    },
    /** Ends connections that say more than any answer has; to be called now and then while requests are under way. */
    cutFloods: () => floods.look(),
    /** Ends all connections once their requests are done. */
    async close(): Promise<void> {
      for (const entry of pools.values()) retire(entry)
      pools.clear()
      await Promise.all(closing)
    },
  }
}
