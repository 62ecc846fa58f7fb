import type { Exchange } from '../../../contracts/domain/series.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { UnreachableVenue } from '../../../contracts/errors/unreachable-venue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { type Circuit, createCircuit } from './circuit.ts'
import type { RateBudget } from './rate-budget.ts'
import { VenueFailure } from './venue-failure.ts'

/** Asks a venue so that it is never asked too much, and gives up in time. */
export interface VenueAccess {
  readonly circuit: Circuit
  /** The last failure, for the operator; undefined before the first. */
  lastFailure(): string | undefined
  /** Undefined while it answers. */
  unreachable(): UnreachableVenue | undefined
  /**
   * Makes a request, again after failures that pass.
   *
   * @throws ServiceError `venue_unavailable` while the venue is left alone
   * @throws VenueFailure when it failed for good, or too often
   */
  ask<Answer>(attempt: () => Promise<Answer>, signal: AbortSignal): Promise<Answer>
}

export interface VenueAccessOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly exchange: Exchange
  readonly budget: RateBudget
  /** Classifies the error of an attempt. */
  readonly classify: (error: unknown) => VenueFailure
  /** From 0 up to 1. */
  readonly random: () => number
}

/**
 * Retries wait exponentially longer, half of it by chance, so that the coins of a venue do not come back in
 * step. A venue that names a time is believed: nobody asks it before.
 */
export function createVenueAccess(options: VenueAccessOptions): VenueAccess {
  const { exchange, budget, classify, now, sleep, random } = options
  const circuit = createCircuit({
    failuresInARow: LIMITS.venueFailuresInARow,
    pauseMs: LIMITS.venuePauseMs,
    pauseMaxMs: LIMITS.venuePauseMaxMs,
    now,
  })
  let lastFailure: string | undefined
  let failingSince: string | undefined
  let unreachable: UnreachableVenue | undefined
  let underWay = 0
  const waiting: (() => void)[] = []

  async function ask<Answer>(attempt: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    if (underWay >= LIMITS.venueRequestsAtOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else underWay += 1
    try {
      return await askPatiently(attempt, signal)
    } finally {
      const next = waiting.shift()
      if (next === undefined) underWay -= 1
      else next()
    }
  }

  async function askPatiently<Answer>(attempt: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      signal.throwIfAborted()
      if (!circuit.enter()) throw leftAloneError()
      try {
        const answer = await attempt()
        answered()
        return answer
      } catch (error) {
        const failure = classify(error)
        lastFailure = failure.message
        const { kind, reason, retryAfterMs = 0 } = failure
        if (kind !== 'passing' && kind !== 'barred') {
          // It answered, if only to refuse: the venue is well.
          answered()
          throw failure
        }
        failingSince ??= new Date(now()).toISOString()
        if (retryAfterMs > LIMITS.venuePauseMaxMs) {
          circuit.leaveAlone(retryAfterMs)
          unreachable = { exchange, since: failingSince, reason: `${reason}, not asked before ${opensAt()}` }
          throw leftAloneError()
        }
        circuit.failed(kind === 'barred' ? LIMITS.venueBarredMs : 0)
        if (retryAfterMs > 0) budget.pauseUntil(now() + retryAfterMs)
        if (kind === 'barred' || tries >= LIMITS.venueAttempts) {
          unreachable = { exchange, since: failingSince, reason }
          throw failure
        }
        const longest = Math.min(LIMITS.venueRetryMs * 2 ** (tries - 1), LIMITS.venueRetryMaxMs)
        await sleep(longest / 2 + (random() * longest) / 2, signal)
      }
    }
  }

  function answered(): void {
    circuit.succeeded()
    failingSince = undefined
    unreachable = undefined
  }

  const opensAt = (): string => new Date(circuit.opensAt()).toISOString()

  const leftAloneError = (): ServiceError =>
    new ServiceError('venue_unavailable', {
      message: `${exchange} is not asked before ${opensAt()}: ${lastFailure ?? 'no reason was seen'}`,
      details: { exchange },
    })

  return { circuit, ask, lastFailure: () => lastFailure, unreachable: () => unreachable }
}
