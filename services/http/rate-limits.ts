import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { reasonOf, ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createWindow } from '../runtime/admission/window.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { withTimeout } from '../runtime/async/with-timeout.ts'
import type { Cache, Count } from '../runtime/cache/cache.ts'
import { addressBlock, type CallerOptions } from './client-address.ts'
import { isByOwnersDoor } from './operator.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Answered however often it is asked. */
    readonly isUnlimited?: boolean
  }
}

/** The caller that a request is counted for. */
export interface RateSubject {
  /** As a client address is spelled; IPv6 counts by its /64 network. */
  readonly address: string
  /** The API key as it was sent, whether or not it is one; only its hash is kept. */
  readonly key?: string | undefined
}

/** The state of one limit for one caller. */
export interface RateState {
  readonly policy: 'address' | 'key'
  /** Requests in a window. */
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the window ends. */
  readonly resetsInMs: number
}

export interface RateDecision {
  readonly isAdmitted: boolean
  /** Empty if nothing is limited. */
  readonly states: readonly RateState[]
}

/** Requests a second, counted per client address and per key. */
export interface RateLimits {
  /** Counts a request and says whether it is within every limit. Never rejects. */
  take(subject: RateSubject): Promise<RateDecision>
}

export interface RateLimitsOptions extends Pick<Clock, 'now'> {
  /** Requests of one address in a second; undefined for no limit. */
  readonly perAddress: number | undefined
  readonly perKey: number | undefined
  /** The counts that processes share; undefined if there is only this process. */
  readonly shared: Cache | undefined
  /** Called when the shared count fails, once until it has answered again. */
  readonly report?: (fault: ServiceError) => void
}

/**
 * Limits in fixed windows of a second that begin with a subject's first request. This process counts first: a caller
 * past the limit here costs nothing elsewhere. The shared count decides if it answers in time; if it does not, this
 * process counts alone for a second, so that a cache never holds up or refuses a request.
 */
export function createRateLimits({ perAddress, perKey, shared, now, report }: RateLimitsOptions): RateLimits {
  const own = createWindow({ now, windowMs: LIMITS.rateWindowMs, maxSubjects: LIMITS.rateSubjects })
  let aloneUntil = Number.NEGATIVE_INFINITY
  let isReported = false

  async function countShared(subject: string): Promise<Count | undefined> {
    if (shared === undefined || now() < aloneUntil) return undefined
    try {
      const counting = shared.increment(`rate:${subject}`, { ttlMs: LIMITS.rateWindowMs })
      const counted = await withTimeout(counting, LIMITS.rateWaitMs, late)
      isReported = false
      return counted
    } catch (error) {
      const message = `this process counts requests alone for a second: ${reasonOf(error)}`
      if (!isReported) report?.(new ServiceError('cache_unavailable', { message, cause: error }))
      isReported = true
      aloneUntil = now() + LIMITS.rateAloneMs
      return undefined
    }
  }

  async function count(policy: RateState['policy'], limit: number, subject: string): Promise<RateState> {
    const mine = own.add(subject)
    const theirs = mine.count > limit ? undefined : await countShared(subject)
    const { count: total, expiresInMs } = theirs ?? mine
    // Also with the shared count, this process admits no more than the limit: the window there may have just begun.
    return { policy, limit, remaining: limit - Math.max(total, mine.count), resetsInMs: expiresInMs }
  }

  return {
    async take({ address, key }) {
      const states: RateState[] = []
      const isWithin = () => states.every(({ remaining }) => remaining >= 0)
      if (perAddress !== undefined)
        states.push(await count('address', perAddress, `address:${addressBlock(address)}`))
      // A caller that is past the limit of its address uses up none of its key's.
      if (perKey !== undefined && key !== undefined && isWithin())
        states.push(await count('key', perKey, `key:${hash('sha256', key, 'base64url')}`))
      return {
        isAdmitted: isWithin(),
        states: states.map((state) => ({ ...state, remaining: Math.max(0, state.remaining) })),
      }
    },
  }
}

const late = (): ServiceError => new ServiceError('cache_unavailable', { message: 'no answer in time' })

const seconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000)

/** The refusal that names the limit; for a decision that does not admit. */
export function rateRefusal({ states }: RateDecision): ServiceError {
  const { policy, limit, resetsInMs } = states.at(-1) ?? { policy: null, limit: null, resetsInMs: 0 }
  return new ServiceError('rate_limited', {
    message: `more than ${limit} requests of this ${policy} in a second`,
    details: { limit, per: policy, window_seconds: 1, retry_after_s: Math.max(1, seconds(resetsInMs)) },
  })
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-10 (§3 `RateLimit-Policy`, §4 `RateLimit`): lists of structured
 * items (RFC 9651), one for each limit; `q` requests in `w` seconds, `r` left for `t` seconds.
 *
 * @example rateHeaders(decision).ratelimit === '"address";r=99;t=1, "key";r=49;t=1'
 */
export function rateHeaders({ states }: RateDecision): Readonly<Record<string, string>> {
  if (states.length === 0) return {}
  const window = seconds(LIMITS.rateWindowMs)
  return {
    'ratelimit-policy': states.map(({ policy, limit }) => `"${policy}";q=${limit};w=${window}`).join(', '),
    ratelimit: states
      .map(({ policy, remaining, resetsInMs }) => `"${policy}";r=${remaining};t=${seconds(resetsInMs)}`)
      .join(', '),
  }
}

/**
 * Counts every request of an app before anything else is done for it, and refuses with 429 `rate_limited` and
 * `Retry-After` past a limit. Answers show the state of each limit. The operator socket has no limits.
 */
export function useRateLimits(
  app: FastifyInstance,
  { limits, addressOf }: CallerOptions & { readonly limits: RateLimits },
): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isUnlimited === true || isByOwnersDoor(request)) return
    const decision = await limits.take({ address: addressOf(request), key: bearerOf(request) })
    reply.headers(rateHeaders(decision))
    if (!decision.isAdmitted) throw rateRefusal(decision)
  })
}

/** The text that was sent as a key, valid or not. */
const bearerOf = ({ headers }: FastifyRequest): string | undefined =>
  /^Bearer +([!-~]{1,512})$/i.exec(headers.authorization ?? '')?.[1]
