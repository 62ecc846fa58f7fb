import { TIMEFRAMES } from '../../contracts/timeframes.ts'
import type { Recipe } from '../../services/engine/provenance.ts'

/** Timeframes with years of bars are fitted on their own; the others on some that are like them. */
const SOURCES: Recipe['sources'] = {
  ...(Object.fromEntries(TIMEFRAMES.map((timeframe) => [timeframe, [timeframe]])) as Recipe['sources']),
  '1m': ['3m', '5m', '15m', '30m'],
  '3m': ['3m', '5m', '15m', '30m'],
  '4h': ['1h', '2h', '4h', '8h', '12h'],
  '8h': ['1h', '2h', '4h', '8h', '12h'],
  '12h': ['1h', '2h', '4h', '8h', '12h'],
  '1d': ['1h', '2h', '4h', '8h', '12h'],
}

/** The recipe of this release; docs/decisions tell how it was chosen. */
export const RECIPE: Recipe = {
  sources: SOURCES,
  clip: 3,
  ridgePerRace: 0.12,
  mostRaces: 250_000,
  firstTrainingShare: 0.4,
  firstTrainingDays: 570,
  refitDays: 91,
  fewestRefits: 8,
  fewestRaces: 3_000,
  firstSlope: 0.9,
  steepestSlope: 1.5,
  offsets: ['1m', '3m', '5m', '15m', '30m', '1h'],
  habitDays: 730,
  coinSlopes: ['5m'],
  chosenUntil: Date.UTC(2025, 6, 1),
}
