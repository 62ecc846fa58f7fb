import { LIMITS } from '../../../contracts/limits.ts'

/** Waits of the settler. {@link LIMITS} explains each. */
export const SETTLEMENT_TIMING = {
  /** Before the next look at a payment; doubles with each look up to the maximum. */
  retryMs: LIMITS.settlementRetryMs,
  retryMaxMs: LIMITS.settlementRetryMaxMs,
  /** Between a claim that is served first and its settlement: until then nobody else knows its signature. */
  restMs: LIMITS.settlementRestMs,
  gatherMs: LIMITS.settlementGatherMs,
  pollMs: LIMITS.settlementPollMs,
  receiptMs: LIMITS.settlementReceiptMs,
  finalityMs: LIMITS.finalityPollMs,
  graceMs: LIMITS.facilitatorGraceMs,
  patienceMs: LIMITS.settlementPatienceMs,
} as const

export type SettlementTiming = Readonly<Record<keyof typeof SETTLEMENT_TIMING, number>>
