import { accounts } from './accounts/accounts.ts'
import { challengers } from './challengers/challengers.ts'
import { chats } from './chats/chats.ts'
import { debits } from './debits/debits.ts'
import { decided } from './decided/decided.ts'
import { latestVerdicts } from './latest-verdicts/latest-verdicts.ts'
import { logCheckpoints } from './log-checkpoints/log-checkpoints.ts'
import { payments } from './payments/payments.ts'
import type { Projection } from './projection.ts'
import { recordMonths } from './record-months/record-months.ts'
import { regimeShifts } from './regime-shifts/regime-shifts.ts'
import { sealedDays } from './sealed-days/sealed-days.ts'
import { speech } from './speech/speech.ts'
import { trackRecord } from './track-record/track-record.ts'
import { verdictIndex } from './verdict-index/verdict-index.ts'

export {
  ACCOUNT_PREFIX,
  type AccountRow,
  type AccountsRow,
  accountRowKey,
  accounts,
  appRowKey,
  ERASED_PREFIX,
  keyIdRowKey,
  keyRowKey,
  type PlanPeriod,
  planAt,
  sessionRowKey,
} from './accounts/accounts.ts'
export { challengers, type PairedRow, pairedKey } from './challengers/challengers.ts'
export { type ChatPlace, chatKey, chats } from './chats/chats.ts'
export {
  type DebitPlace,
  debitKey,
  debits,
  type UsageDay,
  usageDayPrefix,
} from './debits/debits.ts'
export { type Decided, decided } from './decided/decided.ts'
export { type LatestVerdict, latestVerdicts } from './latest-verdicts/latest-verdicts.ts'
export {
  ANCHOR_PREFIX,
  ANCHORED_CHECKPOINT,
  type AnchoredRow,
  type AnchorRow,
  anchorKey,
  type CheckpointRow,
  COSIGNED_CHECKPOINT,
  type CosignedRow,
  LOG_KEYS,
  type LogKeysRow,
  logCheckpoints,
  NEWEST_CHECKPOINT,
  PROMISED_PREFIX,
} from './log-checkpoints/log-checkpoints.ts'
export {
  evolvePayment,
  isAwaited,
  isOpen,
  isPayable,
  isServable,
  isUnsettled,
  JUST_CLAIMED,
  type Payment,
  type PaymentRefund,
} from './payments/payment-state.ts'
export {
  accountPaymentPrefix,
  CLAIM_COUNTS_KEY,
  type ClaimCounts,
  OPEN_PAYMENT_PREFIX,
  OPEN_REFUND_PREFIX,
  OPEN_TRANSFER_PREFIX,
  type OpenPayment,
  PAYABLE_PREFIX,
  PAYMENT_PREFIX,
  type PayerTotals,
  type PaymentsRow,
  payerKey,
  paymentRowKey,
  payments,
  REFUND_TOTALS_KEY,
  type RefundDay,
  type RefundTotals,
  refundDayKey,
  TOTALS_KEY,
  transferKey,
} from './payments/payments.ts'
export {
  type Projection,
  type Rows,
  rowsInMemory,
} from './projection.ts'
export { MONTH_PREFIX, recordMonths } from './record-months/record-months.ts'
export { type RegimeShift, regimeShiftKey, regimeShifts } from './regime-shifts/regime-shifts.ts'
export {
  SEALED_DAY_PREFIX,
  type SealedDay,
  type SealedManifestRow,
  sealedDays,
  sealedManifestKey,
} from './sealed-days/sealed-days.ts'
export {
  type DueSpeech,
  SPEECH_PREFIX,
  SPEECH_WINDOW_DAYS,
  type SpeechRow,
  speech,
  speechKey,
} from './speech/speech.ts'
export { type CallTally, countCall, NO_CALLS } from './track-record/call-tally.ts'
export {
  SERIES_PREFIX,
  TIMEFRAME_PREFIX,
  type TrackRecord,
  trackRecord,
} from './track-record/track-record.ts'
export { type VerdictPlace, verdictIndex } from './verdict-index/verdict-index.ts'
/** Every read model of the service. */
export const PROJECTIONS: readonly Projection[] = [
  accounts,
  challengers,
  chats,
  debits,
  decided,
  latestVerdicts,
  logCheckpoints,
  payments,
  recordMonths,
  regimeShifts,
  sealedDays,
  speech,
  trackRecord,
  verdictIndex,
] as readonly Projection[]
