import type { Call } from '../../contracts/verdict.ts'

/** Probability of the upper barrier from which a call begins, and where it ends again. */
export const BUY_ENTRY = 0.53
export const BUY_EXIT = 0.505
export const SELL_ENTRY = 0.47
export const SELL_EXIT = 0.495

/** 1 BUY, −1 SELL, 0 HOLD. */
export type CallSign = 1 | 0 | -1

/**
 * The next call of a series. A call begins at its entry and lasts while the probability stays beyond its
 * exit; a probability at or past the exit ends it, one at the other side's entry turns it.
 *
 * @example nextCall(0, 0.52) === 0 && nextCall(1, 0.52) === 1 && nextCall(1, 0.505) === 0
 */
export function nextCall(current: number, probability: number): CallSign {
  if (probability >= BUY_ENTRY) return 1
  if (probability <= SELL_ENTRY) return -1
  if (current > 0) return probability > BUY_EXIT ? 1 : 0
  if (current < 0) return probability < SELL_EXIT ? -1 : 0
  return 0
}

export const callOf = (sign: number): Call => (sign > 0 ? 'BUY' : sign < 0 ? 'SELL' : 'HOLD')
