import type { ScoredCall } from './evaluation.ts'

/**
 * The calls of each series with the outcomes of others: those of the same series half its calls later, from
 * the end going on at the beginning. The outcomes keep their order and their neighbours; what is left of any
 * skill is chance.
 *
 * @param calls those of a series in order of time
 */
export function rollOutcomes(calls: readonly ScoredCall[]): ScoredCall[] {
  const bySeries = Map.groupBy(calls, ({ exchange, coin, timeframe }) => `${exchange}.${coin}.${timeframe}`)
  return [...bySeries.values()].flatMap((own) => {
    const half = own.length >> 1
    return own.map((call, index): ScoredCall => {
      const { race, barrier, entryPrice, exitPrice } = own[(index + half) % own.length] ?? call
      return { ...call, race, barrier, entryPrice, exitPrice }
    })
  })
}
