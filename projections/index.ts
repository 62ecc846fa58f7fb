import { latestVerdicts } from './latest-verdicts/latest-verdicts.ts'
import type { Projection } from './projection.ts'
import { regimeShifts } from './regime-shifts/regime-shifts.ts'

export { type LatestVerdict, latestVerdicts } from './latest-verdicts/latest-verdicts.ts'
export { type Projection, type Rows, rowsInMemory } from './projection.ts'
export { type RegimeShift, regimeShiftKey, regimeShifts } from './regime-shifts/regime-shifts.ts'

/** Every read model of the service. */
export const PROJECTIONS: readonly Projection[] = [latestVerdicts, regimeShifts] as readonly Projection[]
