import type { ErrorCode } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** How long, and for what, an append is repeated. One of unknown outcome always is. */
export interface AppendPolicy {
  /** Refusals that pass by themselves. */
  readonly repeated: ReadonlySet<ErrorCode>
  /** How long an append is repeated that has certainly not happened. */
  readonly refusedMs: number
  /** How long one is pursued of which nobody knows whether it happened. */
  readonly unknownMs: number
  /** Pauses between tries; the last one from then on. */
  readonly pausesMs: readonly number[]
}

const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['store_unavailable', 'store_full'])

/** Somebody waits for the answer. */
export const CALLER_WAITS: AppendPolicy = {
  repeated: PASSING,
  refusedMs: LIMITS.appendWaitMs,
  unknownMs: LIMITS.appendSettleMs,
  pausesMs: [10, 25, 50, 100, 250, 500],
}

/** Work that looks at the log again by itself: what it does not learn soon, it reads at its next look. */
export const LOOKS_AGAIN: AppendPolicy = {
  repeated: PASSING,
  refusedMs: LIMITS.appendLookAgainMs,
  unknownMs: LIMITS.appendLookAgainMs,
  pausesMs: [20, 100, 400, 1_000, 2_000],
}

/** A claim that is made anew every few seconds: what is refused is left, and what is not known is pursued until then. */
export const PURSUED_BRIEFLY: AppendPolicy = {
  repeated: new Set(),
  refusedMs: 0,
  unknownMs: LIMITS.leaseRenewMs,
  pausesMs: [10, 25, 50, 100, 250, 500],
}

/** Work that has nothing else to do before this is in the log: it waits for as long as it runs. */
export const UNTIL_ENDED: AppendPolicy = {
  repeated: PASSING,
  refusedMs: Number.POSITIVE_INFINITY,
  unknownMs: Number.POSITIVE_INFINITY,
  pausesMs: [10, 50, 250, 1_000],
}

/** How often a decision is made anew because somebody else was quicker, and the pauses before it is. */
export const CONFLICTS = { most: 64, pausesMs: [0, 5, 10, 25, 50, 100] } as const
