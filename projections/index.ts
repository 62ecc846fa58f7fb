import { accounts } from './accounts/accounts.ts'
import { debitIndex } from './debit-index/debit-index.ts'
import { latestVerdicts } from './latest-verdicts/latest-verdicts.ts'
import type { Projection } from './projection.ts'
import { regimeShifts } from './regime-shifts/regime-shifts.ts'
import { trackRecord } from './track-record/track-record.ts'
import { usage } from './usage/usage.ts'
import { verdictIndex } from './verdict-index/verdict-index.ts'

export {
  ACCOUNT_PREFIX,
  type AccountRow,
  type AccountsRow,
  accountRowKey,
  accounts,
  ERASED_PREFIX,
  keyIdRowKey,
  keyRowKey,
  type PlanPeriod,
} from './accounts/accounts.ts'
export { type DebitPlace, debitIndex, debitKey } from './debit-index/debit-index.ts'
export { type LatestVerdict, latestVerdicts } from './latest-verdicts/latest-verdicts.ts'
export { type Projection, type Rows, rowsInMemory } from './projection.ts'
export { type RegimeShift, regimeShiftKey, regimeShifts } from './regime-shifts/regime-shifts.ts'

export {
  SERIES_PREFIX,
  seriesRecordKey,
  TIMEFRAME_PREFIX,
  type TrackRecord,
  timeframeRecordKey,
  trackRecord,
} from './track-record/track-record.ts'
export { type UsageDay, type UsageDebit, usage, usageDayPrefix, usageDebitPrefix } from './usage/usage.ts'
export { type VerdictPlace, verdictIndex } from './verdict-index/verdict-index.ts'

/** Every read model of the service. */
export const PROJECTIONS: readonly Projection[] = [
  accounts,
  debitIndex,
  latestVerdicts,
  regimeShifts,
  trackRecord,
  usage,
  verdictIndex,
] as readonly Projection[]
