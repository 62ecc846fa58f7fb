import type { TimeframeEvaluation } from '../../services/engine/scoring/evaluate-verdicts.ts'
import type { Scores } from '../../services/engine/scoring/scores-schema.ts'

/** The timeframe that has targets. */
export const TARGET_TIMEFRAME = '1h'

/** Targets of a timeframe out of sample. */
export interface Target {
  readonly name: string
  readonly wanted: string
  /** Null where nothing was measured, which does not meet anything. */
  readonly value: number | null
  readonly isMet: boolean
}

const bestConstant = ({ winRates }: Scores): number =>
  winRates === null ? 1 : Math.max(winRates.alwaysBuy.value, winRates.alwaysSell.value)

/**
 * Holds a timeframe against the project's targets for 1h.
 *
 * @example targetsOf(evaluation).every(({ isMet }) => isMet)
 */
export function targetsOf({
  all,
  placeboAuc,
}: Pick<TimeframeEvaluation, 'all' | 'placeboAuc'>): readonly Target[] {
  const target = (
    name: string,
    wanted: string,
    value: number | null | undefined,
    isMet: (value: number) => boolean,
  ): Target => ({ name, wanted, value: value ?? null, isMet: typeof value === 'number' && isMet(value) })
  const best = bestConstant(all)
  return [
    target('AUC', 'at least 0.53', all.auc?.value, (value) => value >= 0.53),
    target('Brier where it spoke', 'below 0.2495', all.brierSpoken?.value, (value) => value < 0.2495),
    target('calibration error', 'at most 0.02', all.calibrationError, (value) => value <= 0.02),
    target(
      'lower bound of the win rate',
      `above the best constant, ${best.toFixed(4)}`,
      all.winRates?.calledByBlocks.low,
      (value) => value > best,
    ),
    target('SELL share', '0.25 to 0.75', all.sellShare, (value) => value >= 0.25 && value <= 0.75),
    target(
      'AUC of the placebo',
      '0.49 to 0.51',
      placeboAuc?.value,
      (value) => value >= 0.49 && value <= 0.51,
    ),
  ]
}

/** The targets as lines of text. */
export const formatTargets = (targets: readonly Target[]): string[] =>
  targets.map(
    ({ name, wanted, value, isMet }) =>
      `  ${isMet ? 'met   ' : 'missed'} ${name.padEnd(28)} ${value === null ? 'unknown' : value.toFixed(4)} (${wanted})`,
  )
