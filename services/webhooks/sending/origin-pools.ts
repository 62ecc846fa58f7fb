import type { Socket } from 'node:net'
import { type buildConnector, Pool } from 'undici'
import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** Largest answer with all that is read of it: interim answers, headers, body; anything beyond is neither. */
const ANSWER_BYTES = 1_048_576

/** Ends connections that are sent more than any answer has. */
interface FloodWatch {
  /** Connections that are open. */
  readonly size: number
  add(socket: Socket): void
  /** Looks at all connections; to be called now and then while requests are under way. */
  look(): void
}

interface Watched {
  /** Bytes sent and received when the newest request was first seen. */
  written: number
  read: number
}

/**
 * The client counts headers and bodies. What stands between them it passes over without an end (a reason phrase, the
 * extensions of chunks), so the bytes of the connection itself are looked at: those that came since anything was sent.
 */
function createFloodWatch(): FloodWatch {
  const sockets = new Map<Socket, Watched>()
  return {
    get size() {
      return sockets.size
    },
    add(socket) {
      sockets.set(socket, { written: socket.bytesWritten, read: socket.bytesRead })
      socket.once('close', () => sockets.delete(socket))
    },
    look() {
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

/** Connections to one origin. */
export interface OriginPool {
  readonly pool: Pool
  /** How many connections there have been; one that was there before a request is older than the request. */
  connects: number
}

export interface OriginPools {
  of(origin: string): OriginPool
  /** Ends connections that say more than any answer has; to be called now and then. */
  cutFloods(): void
  /** Ends all connections once their requests are done. */
  close(): Promise<void>
}

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
export function createOriginPools(options: OriginPoolsOptions): OriginPools {
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

  function retire({ pool }: OriginPool): void {
    const closed = pool.close().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  function retireOldest(): void {
    const [oldest] = pools
    if (oldest === undefined) return
    pools.delete(oldest[0])
    retire(oldest[1])
  }

  function open(origin: string): OriginPool {
    const entry: OriginPool = {
      connects: 0,
      pool: new Pool(origin, {
        connections: connectionsPerOrigin,
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
              entry.connects += 1
              floods.add(outcome[1])
              if (floods.size > connectionsKept) retireOldest()
            }
            callback(...outcome)
          }),
      }),
    }
    return entry
  }

  return {
    of(origin) {
      const known = pools.get(origin)
      if (known !== undefined) {
        pools.delete(origin)
        pools.set(origin, known)
        return known
      }
      if (pools.size >= originsKept) retireOldest()
      const opened = open(origin)
      pools.set(origin, opened)
      assert(pools.size <= originsKept, 'few origins keep connections', pools.size)
      return opened
    },
    cutFloods: () => floods.look(),
    async close() {
      for (const entry of pools.values()) retire(entry)
      pools.clear()
      await Promise.all(closing)
    },
  }
}
