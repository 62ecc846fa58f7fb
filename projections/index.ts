import { latestVerdicts } from './latest-verdicts/latest-verdicts.ts'
import type { Projection } from './projection.ts'
import { regimeShifts } from './regime-shifts/regime-shifts.ts'
import { trackRecord } from './track-record/track-record.ts'
import { verdictIndex } from './verdict-index/verdict-index.ts'

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
export { type VerdictPlace, verdictIndex } from './verdict-index/verdict-index.ts'

/** Every read model of the service. */
export const PROJECTIONS: readonly Projection[] = [
  latestVerdicts,
  regimeShifts,
  trackRecord,
  verdictIndex,
] as readonly Projection[]
