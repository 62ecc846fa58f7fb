import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
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
  const address = limiterOf('address', options.perAddress, options.redis)
  const key = limiterOf('key', options.perKey, options.redis)
  return {
    /** Counts a request. A caller that is past the limit of its address uses up none of its key's. */
    async take(subjects: { readonly address: string; readonly key?: string | undefined }) {
      const first = await address?.(addressBlock(subjects.address))
      const hashed = subjects.key && hash('sha256', subjects.key, 'base64url')
      const second = hashed && first?.isAdmitted !== false ? await key?.(hashed) : undefined
      const states = [first, second].filter((one) => one !== undefined)
      return { isAdmitted: states.every(({ isAdmitted }) => isAdmitted), states }
    },
  }
}

function limiterOf(policy: 'address' | 'key', limit: number | undefined, redis: Cache['redis']) {
  if (limit === undefined) return undefined
  const window = { points: limit, duration: 1 }
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
          inMemoryBlockOnConsumed: limit,
        }),
        timeoutMs: LIMITS.rateWaitMs,
      })
    : insuranceLimiter
  return async (subject: string) => {
    const counted = await limiter.consume(subject).catch((refusal: unknown) => {
      if (refusal instanceof RateLimiterRes) return { refusal }
      throw refusal
    })
    const isAdmitted = !('refusal' in counted)
    const { remainingPoints: remaining, msBeforeNext } = isAdmitted ? counted : counted.refusal
    return { policy, limit, isAdmitted, remaining, seconds: Math.ceil(msBeforeNext / 1_000) }
  }
}

/**
 * Counts every request of an app before anything else is done for it, and refuses with 429 `rate_limited` and
 * `Retry-After` past a limit. Answers show the state of each limit, as draft-ietf-httpapi-ratelimit-headers-10 has it. The
 * operator socket has no limits.
 */
export function useRateLimits(app: FastifyInstance, limits: RateLimits): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isUnlimited === true || isByOwnersDoor(request)) return
    // The text that was sent as a key, valid or not.
    const [, key] = /^Bearer +([!-~]{1,512})$/i.exec(request.headers.authorization ?? '') ?? []
    const { isAdmitted, states } = await limits.take({ address: addressOf(request), key })
    const last = states.at(-1)
    if (last === undefined) return
    reply.headers({
      'ratelimit-policy': states.map((one) => `"${one.policy}";q=${one.limit};w=1`).join(', '),
      ratelimit: states.map((one) => `"${one.policy}";r=${one.remaining};t=${one.seconds}`).join(', '),
    })
    if (isAdmitted) return
    const { policy, limit, seconds } = last
    throw new ServiceError('rate_limited', {
      message: `more than ${limit} requests of this ${policy} in a second`,
      details: { limit, per: policy, window_seconds: 1, retry_after_s: Math.max(1, seconds) },
    })
  })
}
