import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, RLWrapperTimeouts } from 'rate-limiter-flexible'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Cache } from '../runtime/cache/cache.ts'
import { addressBlock, addressOf } from './client-address.ts'
import { isByOwnersDoor } from './operator.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered however often it is asked. */
    readonly isUnlimited?: boolean
  }
}

/** The state of one limit for one caller. */
interface RateState {
  readonly policy: 'address' | 'key'
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the window ends. */
  readonly resetsInMs: number
}

export type RateLimits = ReturnType<typeof createRateLimits>

/**
 * Limits in fixed windows of a second that begin with a caller's first request. Redis holds the counts that processes
 * share; while it is unavailable each process counts alone, so that nobody is refused or held up for it.
 *
 * @param options.perAddress requests of one client address in a second; undefined for no limit. IPv6 counts by its /64
 * @param options.perKey the same for an API key, whether or not it is one; only its hash is kept
 */
export function createRateLimits(options: {
  readonly perAddress: number | undefined
  readonly perKey: number | undefined
  readonly redis?: Cache['redis']
}) {
  const [address, key] = [
    limiterOf('address', options.perAddress, options.redis),
    limiterOf('key', options.perKey, options.redis),
  ]
  return {
    /** Counts a request. A caller that is past the limit of its address uses up none of its key's. */
    async take(subjects: { readonly address: string; readonly key?: string | undefined }) {
      const first = await address?.(addressBlock(subjects.address))
      const hashed = subjects.key && hash('sha256', subjects.key, 'base64url')
      const second = hashed && first?.isAdmitted !== false ? await key?.(hashed) : undefined
      const counted = [first, second].filter((one) => one !== undefined)
      return {
        isAdmitted: counted.every(({ isAdmitted }) => isAdmitted),
        states: counted.map(({ state }) => state),
      }
    },
  }
}

function limiterOf(policy: RateState['policy'], points: number | undefined, redis: Cache['redis']) {
  if (points === undefined) return undefined
  const window = { points, duration: 1 }
  const insuranceLimiter = new RateLimiterMemory({ ...window, keyPrefix: policy })
  const limiter = redis
    ? new RLWrapperTimeouts({
        limiter: new RateLimiterRedis({
          ...window,
          storeClient: redis.client,
          keyPrefix: `${redis.prefix}${policy}`,
          rejectIfRedisNotReady: true,
          insuranceLimiter,
          // A caller past the limit here costs nothing there.
          inMemoryBlockOnConsumed: points,
        }),
        timeoutMs: LIMITS.rateWaitMs,
      })
    : insuranceLimiter
  const toState = ({ remainingPoints: remaining, msBeforeNext: resetsInMs }: RateLimiterRes): RateState => ({
    policy,
    limit: points,
    remaining,
    resetsInMs,
  })
  return async (subject: string) => {
    try {
      return { isAdmitted: true, state: toState(await limiter.consume(subject)) }
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      return { isAdmitted: false, state: toState(refusal) }
    }
  }
}

const seconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000)

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-10 (§3 `RateLimit-Policy`, §4 `RateLimit`): lists of structured
 * items (RFC 9651), one for each limit; `q` requests in `w` seconds, `r` left for `t` seconds.
 */
const rateHeaders = (states: readonly RateState[]) => ({
  'ratelimit-policy': states.map(({ policy, limit }) => `"${policy}";q=${limit};w=1`).join(', '),
  ratelimit: states
    .map(({ policy, remaining, resetsInMs }) => `"${policy}";r=${remaining};t=${seconds(resetsInMs)}`)
    .join(', '),
})

/**
 * Counts every request of an app before anything else is done for it, and refuses with 429 `rate_limited` and
 * `Retry-After` past a limit. Answers show the state of each limit. The operator socket has no limits.
 */
export function useRateLimits(app: FastifyInstance, limits: RateLimits): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isUnlimited === true || isByOwnersDoor(request)) return
    const { isAdmitted, states } = await limits.take({ address: addressOf(request), key: bearerOf(request) })
    const last = states.at(-1)
    if (last === undefined) return
    reply.headers(rateHeaders(states))
    if (isAdmitted) return
    const { policy, limit, resetsInMs } = last
    throw new ServiceError('rate_limited', {
      message: `more than ${limit} requests of this ${policy} in a second`,
      details: { limit, per: policy, window_seconds: 1, retry_after_s: Math.max(1, seconds(resetsInMs)) },
    })
  })
}

/** The text that was sent as a key, valid or not. */
const bearerOf = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer +([!-~]{1,512})$/i.exec(headers.authorization ?? '')?.[1]
