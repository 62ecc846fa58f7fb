import type { Recipe } from '../../services/engine/provenance.ts'

/** The recipe of this release; docs/decisions tell how it was chosen. */
export const RECIPE: Recipe = {
  fitTimeframe: '1h',
  clip: 3,
  ridgePerRace: 0.06,
  firstTrainingShare: 0.4,
  firstTrainingDays: 570,
  refitDays: 91,
  fewestRefits: 8,
  calibrationShare: 0.25,
  fewestRaces: 200,
}
