import { DAY_MS, type Timeframe } from '../../contracts/timeframes.ts'
import type { Scores } from '../../services/engine/scoring/evaluation.ts'
import { interval } from '../../services/engine/scoring/format-evaluation.ts'
import type { Measure } from '../../services/engine/scoring/intervals.ts'

/** What always saying one half gets. */
const COIN_BRIER = 0.25
const COIN_AUC = 0.5

/** Days that scores must span: a few weeks are one mood of the market, however many races they hold. */
const FEWEST_DAYS = 180

/**
 * Why a timeframe is to answer HOLD, or undefined where it may speak: its scores span half a year at least; its
 * AUC lies above a coin's with its whole interval, and above what the same recipe scored on outcomes that were
 * moved; its forecasts are better than saying one half, on all races and on those it spoke on, and what it called
 * won more often than the best constant call did on the same bars.
 *
 * @returns words that continue "HOLD because"
 */
export function lackOfSkill(
  timeframe: Timeframe,
  scores: Scores & { readonly placeboAuc: Measure | null },
): string | undefined {
  const { auc, placeboAuc, brier, brierSpoken, winRates } = scores
  const none = `no skill was measured at ${timeframe}: `
  if (auc === null || auc.low === null || brier === null) return `${none}too few races were recorded`
  if (auc.low <= COIN_AUC) return `${none}an AUC of ${interval(auc, 3)} may be a coin's`
  if (placeboAuc !== null && auc.low <= placeboAuc.value) {
    return `${none}an AUC of ${interval(auc, 3)} is no better than ${placeboAuc.value.toFixed(3)} on moved outcomes`
  }
  if (brier.value >= COIN_BRIER) {
    return `${none}a Brier score of ${brier.value.toFixed(4)} is no better than always saying 50 %`
  }
  if (winRates === null || brierSpoken === null) return `${none}it never spoke`
  if (brierSpoken.value >= COIN_BRIER) {
    return `${none}where it spoke, a Brier score of ${brierSpoken.value.toFixed(4)} is no better than always saying 50 %`
  }
  const { called, alwaysBuy, alwaysSell } = winRates
  const best = Math.max(alwaysBuy.value, alwaysSell.value)
  if (called.value <= best) {
    const share = (value: number): string => `${(100 * value).toFixed(1)} %`
    return `${none}its calls won ${share(called.value)} of races, the best constant call ${share(best)}`
  }
  const days = (scores.to - scores.from) / DAY_MS
  if (days < FEWEST_DAYS) {
    return `${none}only ${Math.floor(days)} days of bars that no fit had seen were there to score it on`
  }
  return undefined
}
