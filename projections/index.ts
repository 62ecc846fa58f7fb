import { accounts } from './accounts/accounts.ts'
import { chats, debits } from './debits/debits.ts'
import { decided, latestVerdicts, verdictIndex } from './latest-verdicts/latest-verdicts.ts'
import { logCheckpoints } from './log-checkpoints/log-checkpoints.ts'
import type { Projection } from './projection.ts'
import { recordMonths } from './record-months/record-months.ts'
import { regimeShifts } from './regime-shifts/regime-shifts.ts'
import { sealedDays } from './sealed-days/sealed-days.ts'
import { speech } from './speech/speech.ts'
import { trackRecord } from './track-record/track-record.ts'

export * from './accounts/accounts.ts'
export * from './debits/debits.ts'
export * from './latest-verdicts/latest-verdicts.ts'
export * from './log-checkpoints/log-checkpoints.ts'
export * from './projection.ts'
export * from './record-months/record-months.ts'
export * from './regime-shifts/regime-shifts.ts'
export * from './sealed-days/sealed-days.ts'
export * from './speech/speech.ts'
export * from './track-record/call-tally.ts'
export * from './track-record/track-record.ts'

/** Every read model of the service. */
export const PROJECTIONS: readonly Projection[] = [
  accounts,
  chats,
  debits,
  decided,
  latestVerdicts,
  logCheckpoints,
  recordMonths,
  regimeShifts,
  sealedDays,
  speech,
  trackRecord,
  verdictIndex,
] as readonly Projection[]
