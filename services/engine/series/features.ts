import type { Factor } from '../../../contracts/domain/verdict.ts'
import type { VerdictModelData } from '../model/verdict-model.ts'

/** The two inputs of the direction, both in ATR50; null while they cannot be measured. */
export interface Features {
  /** Distance of the close from EMA50. */
  readonly price_to_ema50: number | null
  /** How much longer lower shadows have been than upper ones. */
  readonly wick_balance: number | null
}

export const FEATURE_NAMES = ['price_to_ema50', 'wick_balance'] as const satisfies readonly (keyof Features)[]

/** The parts of the log-odds; added in this order they are the log-odds to the last bit. */
export const factorsOf = (features: Features, direction: VerdictModelData['direction']): Factor[] =>
  FEATURE_NAMES.map((name) => {
    const value = features[name]
    if (value === null) return { name, value, contribution: 0, status: 'unavailable' }
    const { weight, unit } = direction.factors[name]
    const { clip } = direction
    const contribution = weight * Math.max(-clip, Math.min(clip, value / unit))
    // Adding 0 turns −0, which JSON cannot carry, into 0 and changes nothing else.
    return { name, value: value + 0, contribution: contribution + 0, status: 'measured' }
  })

/** Log-odds that the upper barrier comes first, if one is reached. Odd: the mirrored market has the negative. */
export const logOddsOf = (factors: readonly Factor[]): number =>
  factors.reduce((sum, { contribution }) => sum + contribution, 0)

export const probabilityOf = (logOdds: number): number => 1 / (1 + Math.exp(-logOdds))
