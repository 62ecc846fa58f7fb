import { once } from 'node:events'
import { connect } from 'node:net'
import { Redis } from 'ioredis'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Cache, CacheHealth } from './cache.ts'
import { checkIncrement, checkKey, checkTtl, checkValue } from './cache-arguments.ts'
import { ACQUIRE_LOCK, INCREMENT, RELEASE_LOCK, type RedisScript, runScript } from './redis-scripts.ts'

const CONNECT_TIMEOUT_MS = 5_000
/** A cache slower than this is of no use to its callers. */
const COMMAND_TIMEOUT_MS = 500
/** A connection that answers nothing for this long while commands wait is replaced. */
const SILENCE_MS = 2_000
const RECONNECT_FLOOR_MS = 50
const RECONNECT_CEILING_MS = 5_000
const RECONNECT_DOUBLINGS = 7

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
 * The cache over Redis 6 and later, shared by processes. It reconnects in the background; until then every
 * operation rejects at once.
 *
 * @throws ServiceError `cache_unavailable` when the first connection fails, `config_invalid` for a URL that
 *   is none.
 * @example
 * const cache = await openRedisCache({ url: 'redis://127.0.0.1:6379', logId, random: Math.random, report })
 */
export async function openRedisCache(options: RedisCacheOptions): Promise<Cache> {
  const prefix = `signal-service:${options.logId}:`
  const { redis, host } = await connectRedis(options)
  const keyOf = { value: `${prefix}v:`, counter: `${prefix}c:`, lock: `${prefix}l:` }
  let closed: Promise<void> | undefined

  /** Every command goes through here, so that nothing but a ServiceError comes out. */
  async function ask<Answer>(what: string, command: () => Promise<Answer>): Promise<Answer> {
    if (closed !== undefined) throw new ServiceError('cache_unavailable', { message: 'the cache is closed' })
    try {
      return await command()
    } catch (error) {
      const reason = redis.status === 'ready' ? describe(error) : 'not connected'
      const message = `${what} in Redis at ${host} failed: ${reason}`
      // Without the cause: the client's errors carry the arguments of their command.
      throw new ServiceError('cache_unavailable', { message })
    }
  }

  const askLock = async (script: RedisScript, name: string, ...values: readonly (string | number)[]) =>
    (await ask(`the lock ${name}`, () => runScript(redis, script, keyOf.lock + name, values))) === 1

  return {
    async get(key) {
      checkKey('key', key)
      return (await ask(`getting ${key}`, () => redis.get(keyOf.value + key))) ?? undefined
    },

    async set(key, value, ttlMs) {
      checkKey('key', key)
      checkValue(key, value)
      checkTtl(ttlMs)
      await ask(`setting ${key}`, () => redis.set(keyOf.value + key, value, 'PX', ttlMs))
    },

    async delete(key) {
      checkKey('key', key)
      await ask(`deleting ${key}`, () => redis.del(keyOf.value + key, keyOf.counter + key))
    },

    async increment(key, { ttlMs, by = 1 }) {
      checkKey('key', key)
      checkTtl(ttlMs)
      checkIncrement(by)
      const [count, expiresInMs] = await ask(`counting ${key}`, async () =>
        countSchema.parse(await runScript(redis, INCREMENT, keyOf.counter + key, [by, ttlMs])),
      )
      return { count, expiresInMs }
    },

    async acquireLock(name, { ttlMs, token }) {
      checkKey('lock name', name)
      checkKey('token', token)
      checkTtl(ttlMs)
      return askLock(ACQUIRE_LOCK, name, token, ttlMs)
    },

    async releaseLock(name, token) {
      checkKey('lock name', name)
      checkKey('token', token)
      return askLock(RELEASE_LOCK, name, token)
    },

    async health(): Promise<CacheHealth> {
      try {
        await ask('a ping', () => redis.ping())
        return { ok: true, adapter: 'redis', detail: host, version: await versionOf(redis) }
      } catch (error) {
        return { ok: false, adapter: 'redis', detail: describe(error) }
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
    retryStrategy: (attempt) => {
      const backoffMs = RECONNECT_FLOOR_MS * 2 ** Math.min(attempt, RECONNECT_DOUBLINGS)
      return Math.round(Math.min(RECONNECT_CEILING_MS, backoffMs) * (0.5 + random()))
    },
  })
  redis.on('error', (error: unknown) => {
    lastError = error
  })
  redis.on('ready', () => {
    isReported = false
  })
  redis.on('reconnecting', () => {
    if (isReported) return
    isReported = true
    report(new ServiceError('cache_unavailable', { message: `lost Redis at ${host}; reconnecting` }))
  })
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    const { hostname, port } = new URL(url)
    const reason = (await redisRefusal(hostname, Number(port || 6379))) ?? describe(lastError ?? error)
    // Without the cause: the client's errors carry the arguments of their command, here the password.
    throw new ServiceError('cache_unavailable', { message: `no connection to Redis at ${host}: ${reason}` })
  }
  return { redis, host }
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

const describe = (error: unknown): string => reasonOf(error)

const LISTEN_MS = 500
const LONGEST_SENTENCE = 200

/**
 * The refusal that a server sends on a new connection before it closes it: Redis in protected mode, or with as many clients
 * as it takes. The client loses this text. Undefined where there is none.
 */
async function redisRefusal(hostname: string, port: number): Promise<string | undefined> {
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port })
  try {
    const [said] = (await once(socket, 'data', { signal: AbortSignal.timeout(LISTEN_MS) })) as [Buffer]
    const line = String(said).split(/\r?\n/, 1)[0] ?? ''
    if (!line.startsWith('-')) return undefined
    return line.slice(1).split('. ', 1)[0]?.slice(0, LONGEST_SENTENCE)
  } catch {
    // Silent, or not there: what the client met says more.
    return undefined
  } finally {
    socket.destroy()
  }
}
