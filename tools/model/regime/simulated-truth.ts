import type { Regime } from '../../../contracts/regime.ts'
import type { Coin } from '../../../contracts/series.ts'
import { HOUR_MS, type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import type { VerdictModel } from '../../../services/engine/model.ts'
import { createPricePath, type SimulatedRegime } from '../../../services/market/simulated/price-path.ts'
import { simulatedCoin } from '../../../services/market/simulated/simulated-coins.ts'
import { simulatedHistory } from '../simulated-market.ts'
import { labelChanges } from './label-changes.ts'
import { regimeTrack } from './regime-track.ts'

const WORD_OF: Readonly<Record<SimulatedRegime, Regime>> = {
  ranging: 'RANGING',
  rising: 'TRENDING_UP',
  falling: 'TRENDING_DOWN',
  volatile: 'VOLATILE',
}

/** From here on percentiles are of as many bars as they ever are. */
const SETTLED_BARS = 1_700

/**
 * Compares the word of the regime with the regime that a simulated market was drawn from.
 *
 * @param model tells the rule of the regime
 * @param seed as the first event of a log has it; the regimes of former ones differ enough to be told apart
 * @returns share of bars whose word is right, the mean of that share over the four regimes, and what always saying
 * RANGING scores; changes of the word a day, and of the truth
 */
export function wordsAgainstTruth(
  model: VerdictModel,
  {
    seed,
    coins,
    timeframe,
    hours,
  }: { seed: string; coins: readonly Coin[]; timeframe: Timeframe; hours: number },
) {
  const said = new Map<Regime, { right: number; bars: number }>()
  const changes = { word: 0, truth: 0 }
  const barMs = timeframeMs(timeframe)
  for (const coin of coins) {
    const { bars } = simulatedHistory(seed, coin, timeframe, hours)
    const { regimeAt } = createPricePath(seed, simulatedCoin(coin))
    const words = regimeTrack(model, timeframe, bars).words.slice(SETTLED_BARS)
    const truth = bars
      .slice(SETTLED_BARS)
      .map(({ openTime }) => WORD_OF[regimeAt(Math.floor(openTime / HOUR_MS))])
    for (const [index, regime] of truth.entries()) {
      const counted = said.get(regime) ?? { right: 0, bars: 0 }
      said.set(regime, { right: counted.right + (words[index] === regime ? 1 : 0), bars: counted.bars + 1 })
    }
    changes.word += labelChanges(words, barMs).perDay / coins.length
    changes.truth += labelChanges(truth, barMs).perDay / coins.length
  }
  const counts = [...said.values()]
  const bars = counts.reduce((sum, one) => sum + one.bars, 0)
  return {
    right: counts.reduce((sum, one) => sum + one.right, 0) / bars,
    balanced: counts.reduce((sum, one) => sum + one.right / one.bars, 0) / counts.length,
    alwaysRanging: (said.get('RANGING')?.bars ?? 0) / bars,
    changes,
  }
}
