import { Redis } from 'ioredis'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { type Cache, type CacheHealth, checkCounter } from './cache.ts'

const CONNECT_TIMEOUT_MS = 5_000
/** A cache slower than this is of no use to its callers. */
const COMMAND_TIMEOUT_MS = 500
/** A connection that answers nothing for this long while commands wait is replaced. */
const SILENCE_MS = 2_000
const RECONNECT_FLOOR_MS = 50
const RECONNECT_CEILING_MS = 5_000
const RECONNECT_DOUBLINGS = 7

/** A server that says one of these leads nowhere on this connection; behind the same address may be one that takes writes. */
const LEADS_NOWHERE = /\b(READONLY|MASTERDOWN|CLUSTERDOWN|LOADING|UNBLOCKED)\b/
/** How long the counter lives by which a server shows that it takes writes. */
const HEALTH_TTL_MS = 1_000

/** Begins a window of `ARGV[1]` ms where none runs, so no counter is left without an end. */
const COUNT_IN_WINDOW = `
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  left = tonumber(ARGV[1])
end
return {count, left}`

/** The client, with the script above as a command. */
type CountingRedis = Redis & { countInWindow(key: string, ttlMs: number): Promise<unknown> }

const countSchema = z.tuple([z.int().positive(), z.int().nonnegative()])

export interface RedisCacheOptions {
  /** `redis://[user:password@]host:port[/database]`; `rediss://` for TLS. */
  readonly url: string
  /** Uniform in [0, 1); spreads reconnects. */
  readonly random: () => number
  /** Told when the connection is lost, once for each outage. */
  readonly report: (fault: ServiceError) => void
  /** Tells the log of these processes from every other: what others keep on the same server is not touched. */
  readonly logId: string
}

/**
 * The cache over Redis 6 and later, shared by processes. It reconnects in the background; until then every operation
 * rejects at once. @throws ServiceError `dependency_unavailable` when the first connection fails, `config_invalid` for a URL
 * that is none
 */
export async function openRedisCache(options: RedisCacheOptions): Promise<Cache> {
  const { redis, host, wrote } = await connectRedis(options)
  let closed: Promise<void> | undefined

  /** Every command goes through here, so that nothing but a ServiceError comes out. */
  async function ask<Answer>(what: string, command: () => Promise<Answer>): Promise<Answer> {
    if (closed !== undefined)
      throw new ServiceError('dependency_unavailable', { message: 'the cache is closed' })
    try {
      return await command()
    } catch (error) {
      const reason = redis.status === 'ready' ? reasonOf(error) : 'not connected'
      const message = `${what} in Redis at ${host} failed: ${reason}`
      // Without the cause: the client's errors carry the arguments of their command.
      throw new ServiceError('dependency_unavailable', { message })
    }
  }

  async function increment(key: string, { ttlMs }: { readonly ttlMs: number }) {
    checkCounter(key, ttlMs)
    const counter = `signal-service:${options.logId}:c:${key}`
    const [count, expiresInMs] = await ask(`counting ${key}`, async () =>
      countSchema.parse(await redis.countInWindow(counter, ttlMs)),
    )
    wrote()
    return { count, expiresInMs }
  }

  return {
    increment,
    redis: { client: redis, prefix: `signal-service:${options.logId}:rate:` },
    async health(): Promise<CacheHealth> {
      try {
        // A replica answers a ping, and so does a server without room: only a write shows that it counts.
        await increment('health', { ttlMs: HEALTH_TTL_MS })
        return { ok: true, adapter: 'redis', detail: host, version: await versionOf(redis) }
      } catch (error) {
        return { ok: false, adapter: 'redis', detail: reasonOf(error) }
      }
    },
    close() {
      closed ??= disconnect(redis)
      return closed
    },
  }
}

async function connectRedis({ url, random, report }: RedisCacheOptions) {
  const host = hostOf(url)
  let lastError: unknown
  let isReported = true
  /** Connections in a row that refused a write: each waits longer than the one before. */
  let refusals = 0
  const redis = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    // A command lost with its connection is refused, not sent again: an increment would count twice.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
    connectionName: 'signal-service',
    scripts: { countInWindow: { lua: COUNT_IN_WINDOW, numberOfKeys: 1 } },
    reconnectOnError: ({ message }) => {
      if (!LEADS_NOWHERE.test(message)) return false
      refusals += 1
      return true
    },
    retryStrategy: (attempt) => {
      const backoffMs = RECONNECT_FLOOR_MS * 2 ** Math.min(attempt + refusals, RECONNECT_DOUBLINGS)
      return Math.round(Math.min(RECONNECT_CEILING_MS, backoffMs) * (0.5 + random()))
    },
  }) as CountingRedis
  redis.on('error', (error: unknown) => {
    lastError = error
  })
  redis.on('ready', () => {
    if (refusals === 0) isReported = false
  })
  redis.on('reconnecting', () => {
    if (isReported) return
    isReported = true
    const what = refusals > 0 ? 'refused a write, as a replica does' : 'was lost'
    report(new ServiceError('dependency_unavailable', { message: `Redis at ${host} ${what}; reconnecting` }))
  })
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    const reason = reasonOf(lastError ?? error)
    // Without the cause: the client's errors carry the arguments of their command, here the password.
    throw new ServiceError('dependency_unavailable', {
      message: `no connection to Redis at ${host}: ${reason}`,
    })
  }
  const wrote = (): void => {
    refusals = 0
    isReported = false
  }
  return { redis, host, wrote }
}

/** Undefined where the user of this connection may not ask. */
async function versionOf(redis: Redis): Promise<string | undefined> {
  const info = await redis.info('server').catch(() => '')
  return /^redis_version:(\S+)/m.exec(info)?.[1]
}

/** Ends the connection, after what is under way where the server is there to finish it. */
async function disconnect(redis: Redis): Promise<void> {
  if (redis.status === 'ready') await redis.quit().catch(() => redis.disconnect())
  else redis.disconnect()
}

/** The server without credentials, for messages. */
function hostOf(url: string): string {
  const server = URL.canParse(url) ? new URL(url) : undefined
  if (server === undefined || !/^rediss?:$/.test(server.protocol) || server.hostname === '') {
    throw new ServiceError('config_invalid', {
      message: 'REDIS_URL is not redis://host:port or rediss://host:port',
    })
  }
  return `${server.hostname}:${server.port || 6379}`
}
