import { ServiceError } from './errors.ts'

const broken = new Map<string, number>()

/**
 * Ends the current act with `internal_error` where an invariant of the service does not hold, and counts it
 * for the metric `invariants_broken_total`. For facts that our own code must keep no matter what a caller, a server or
 * a stored event brings; input is refused with its own code instead.
 *
 * @param holds - The invariant, cheap to evaluate: assertions run in production.
 * @param invariant - The invariant in words, a constant: it labels the metric.
 * @param found - The value that breaks it, for the error's message; never a secret.
 * @throws ServiceError `internal_error`
 * @example assert(balance >= 0, 'a balance is not negative', balance)
 */
export function assert(holds: boolean, invariant: string, found?: number | bigint | string): asserts holds {
  if (holds) return
  broken.set(invariant, (broken.get(invariant) ?? 0) + 1)
  const value = found === undefined ? '' : ` (found ${found})`
  throw new ServiceError('internal_error', { message: `This does not hold: ${invariant}${value}.` })
}

/** How often each invariant was broken in this thread since the start. */
export const brokenInvariants = (): ReadonlyMap<string, number> => broken
