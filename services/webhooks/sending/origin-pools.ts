import { type buildConnector, Pool } from 'undici'
import { LIMITS } from '../../../contracts/limits.ts'
import { createFloodWatch } from './flood-watch.ts'

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
}

/**
 * Keeps connections open, to so many origins: past that, those of the one that was not used for the longest time end
 * with their last request. HTTP/1.1, one request at a time on each, since an endpoint that never answers would hold
 * up what stands behind it.
 */
export function createOriginPools(options: OriginPoolsOptions): OriginPools {
  const {
    connector,
    originsKept = LIMITS.webhookOrigins,
    connectionsPerOrigin = LIMITS.webhookConnectionsPerOrigin,
  } = options
  /** Least recently used first. */
  const pools = new Map<string, OriginPool>()
  const closing = new Set<Promise<void>>()
  const floods = createFloodWatch()

  function retire({ pool }: OriginPool): void {
    const closed = pool.close().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  function open(origin: string): OriginPool {
    const entry: OriginPool = {
      connects: 0,
      pool: new Pool(origin, {
        connections: connectionsPerOrigin,
        pipelining: 1,
        allowH2: false,
        keepAliveTimeout: LIMITS.webhookIdleMs,
        keepAliveMaxTimeout: LIMITS.webhookIdleMs,
        maxHeaderSize: LIMITS.webhookResponseHeaderBytes,
        // One sweep bounds all of a request; these would not bound one whose answer drips.
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: (target, callback) =>
          connector(target, (...outcome) => {
            if (outcome[0] === null) {
              entry.connects += 1
              floods.add(outcome[1])
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
      for (const [oldest, entry] of pools) {
        if (pools.size < originsKept) break
        pools.delete(oldest)
        retire(entry)
      }
      const opened = open(origin)
      pools.set(origin, opened)
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
