import { LIMITS } from '../../../contracts/limits.ts'

/** How long settling waits for what; all in milliseconds. */
export interface SettlementTiming {
  /** Before a payment is looked at again; doubles from try to try, up to the longest. */
  readonly retryMs: number
  readonly retryMaxMs: number
  /** Between a claim that is served first and its settlement: nobody else knows its signature that long. */
  readonly restMs: number
  readonly gatherMs: number
  readonly pollMs: number
  readonly receiptMs: number
  readonly finalityMs: number
  readonly graceMs: number
  readonly patienceMs: number
}

export const SETTLEMENT_TIMING: SettlementTiming = {
  retryMs: LIMITS.settlementRetryMs,
  retryMaxMs: LIMITS.settlementRetryMaxMs,
  restMs: LIMITS.settlementRestMs,
  gatherMs: LIMITS.settlementGatherMs,
  pollMs: LIMITS.settlementPollMs,
  receiptMs: LIMITS.settlementReceiptMs,
  finalityMs: LIMITS.finalityPollMs,
  graceMs: LIMITS.facilitatorGraceMs,
  patienceMs: LIMITS.settlementPatienceMs,
}
