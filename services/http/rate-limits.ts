import { hash } from 'node:crypto'
import { reasonOf, ServiceError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { createWindow, type Window } from '../runtime/admission/window.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { withTimeout } from '../runtime/async/with-timeout.ts'
import type { Cache } from '../runtime/cache/cache.ts'
import { addressBlock } from './client-address.ts'

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
  /** Empty where nothing is limited. */
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
  /** The counts that processes share; undefined where there is only this process. */
  readonly shared: Cache | undefined
  /** Told when the shared count is left aside, once until it has answered again. */
  readonly report?: (fault: ServiceError) => void
}

/**
 * Limits in fixed windows of a second that begin with a subject's first request, so that two adjoining windows let
 * through at most twice the limit within any second. This process counts for itself first: a caller past the limit
 * here costs nothing elsewhere. The shared count is asked next and decides where it answers in time; where it is away
 * or slow, this process goes on alone for a second before it asks again, so that a cache never holds up or refuses a
 * request.
 */
export function createRateLimits(options: RateLimitsOptions): RateLimits {
  const { perAddress, perKey, now } = options
  const own = createWindow({ now, windowMs: LIMITS.rateWindowMs, maxSubjects: LIMITS.rateSubjects })
  const countShared = createSharedCount(options)

  async function count(policy: RateState['policy'], limit: number, subject: string): Promise<RateState> {
    const mine = own.add(subject)
    const theirs = mine.count > limit ? undefined : await countShared(subject)
    const { count: total, expiresInMs } = theirs ?? mine
    // Also with the shared count, this process admits no more than the limit: the window there may have just begun.
    return { policy, limit, remaining: limit - Math.max(total, mine.count), resetsInMs: expiresInMs }
  }

  async function take({ address, key }: RateSubject): Promise<RateDecision> {
    const states: RateState[] = []
    if (perAddress !== undefined) {
      states.push(await count('address', perAddress, `address:${addressBlock(address)}`))
    }
    // A caller that is past the limit of its address has none of its key's used up.
    if (perKey !== undefined && key !== undefined && states.every(isWithin)) {
      states.push(await count('key', perKey, `key:${hash('sha256', key, 'base64url')}`))
    }
    return {
      isAdmitted: states.every(isWithin),
      states: states.map((state) => ({ ...state, remaining: Math.max(0, state.remaining) })),
    }
  }

  return { take }
}

const isWithin = ({ remaining }: RateState): boolean => remaining >= 0

/** Counts in the cache that processes share, while it answers in time; undefined while it does not. */
function createSharedCount({
  shared,
  now,
  report,
}: RateLimitsOptions): (subject: string) => Promise<ReturnType<Window['add']> | undefined> {
  if (shared === undefined) return async () => undefined
  let aloneUntil = Number.NEGATIVE_INFINITY
  let isReported = false
  return async (subject) => {
    if (now() < aloneUntil) return undefined
    try {
      const counting = shared.increment(`rate:${subject}`, { ttlMs: LIMITS.rateWindowMs })
      const count = await withTimeout(counting, LIMITS.rateWaitMs, lateError)
      isReported = false
      return count
    } catch (error) {
      if (!isReported) {
        isReported = true
        const message = `this process counts requests alone for a second: ${reasonOf(error)}`
        report?.(new ServiceError('cache_unavailable', { message, cause: error }))
      }
      aloneUntil = now() + LIMITS.rateAloneMs
      return undefined
    }
  }
}

const lateError = (): ServiceError =>
  new ServiceError('cache_unavailable', { message: `no answer within ${LIMITS.rateWaitMs} ms` })

/** Whole seconds, from 1, after which a caller that was not admitted may try again. */
export const retryAfterSeconds = ({ states }: RateDecision): number =>
  Math.max(1, seconds(states.at(-1)?.resetsInMs ?? 0))

const seconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000)

/** Says which limit it was; for a decision that does not admit. */
export function rateRefusal(decision: RateDecision): ServiceError {
  const state = decision.states.at(-1)
  const whose = state?.policy === 'key' ? 'this key' : 'this address'
  return new ServiceError('rate_limited', {
    message: `more than ${state?.limit} requests of ${whose} in a second`,
    details: { limit: state?.limit ?? null, per: state?.policy ?? null, window_seconds: 1 },
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
