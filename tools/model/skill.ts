import type { Timeframe } from '../../contracts/timeframes.ts'
import { interval } from '../../services/engine/scoring/format-evaluation.ts'
import type { Measure } from '../../services/engine/scoring/intervals.ts'
import type { Scores } from '../../services/engine/scoring/scores-schema.ts'

/** Score of always saying one half. */
const COIN_BRIER = 0.25
const COIN_AUC = 0.5

/** Observed days that scores must have: a few weeks are one mood of the market, however many races they hold. */
const FEWEST_DAYS = 180

/**
 * Why a timeframe is to answer HOLD, or undefined where it may speak. Scores of half a year of observed days at
 * least are asked for, and of them that
 *
 * 1. the whole interval of the AUC lies above a coin's and above what the same recipe scored on moved outcomes,
 * 2. where it spoke its forecasts are better than saying one half,
 * 3. its calls won more often than the best constant call on the same bars, with their whole interval,
 * 4. over the newest 365 observed days the whole interval of the AUC lies above a coin's, too, for skill passes.
 *
 * @returns words that continue "HOLD because"
 */
export function lackOfSkill(
  timeframe: Timeframe,
  scores: Scores & { readonly placeboAuc: Measure | null },
): string | undefined {
  const { auc, newestYearAuc, placeboAuc, brierSpoken, winRates, observedDays } = scores
  const none = `no skill was measured at ${timeframe}: `
  if (auc === null || auc.low === null) return `${none}too few races were recorded`
  if (auc.low <= COIN_AUC) return `${none}an AUC of ${interval(auc, 3)} may be a coin's`
  if (placeboAuc !== null && auc.low <= placeboAuc.value) {
    return `${none}an AUC of ${interval(auc, 3)} is no better than ${placeboAuc.value.toFixed(3)} on moved outcomes`
  }
  if (winRates === null || brierSpoken === null) return `${none}it never spoke`
  if (brierSpoken.value >= COIN_BRIER) {
    return `${none}where it spoke, a Brier score of ${brierSpoken.value.toFixed(4)} is no better than always saying 50 %`
  }
  const { calledByBlocks: called, alwaysBuy, alwaysSell } = winRates
  const best = Math.max(alwaysBuy.value, alwaysSell.value)
  if (called.low === null || called.low <= best) {
    return `${none}its calls won ${interval(called, 1, 100)} % of decided races, the best constant call ${(100 * best).toFixed(1)} %`
  }
  if (newestYearAuc?.low === undefined || newestYearAuc.low === null || newestYearAuc.low <= COIN_AUC) {
    return `${none}over the newest 365 days ${newestYearAuc ? `an AUC of ${interval(newestYearAuc, 3)} may be a coin's` : 'no race was decided'}`
  }
  if (observedDays < FEWEST_DAYS) {
    return `${none}only ${observedDays} days of bars that no fit had seen were there to score it on`
  }
  return undefined
}
