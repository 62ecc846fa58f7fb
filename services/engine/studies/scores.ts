/** A forecast and what came of it. */
export interface Forecast {
  readonly probability: number
  /** 1 where the upper barrier won, 0 where the lower one did. */
  readonly outcome: 0 | 1
  /** Forecasts of one block may depend on one another, those of different blocks do not. */
  readonly block: number
}

/** Half-width of a 95 % interval, in standard errors. */
const NORMAL_95 = 1.96

/**
 * Area under the ROC curve: the chance that a race won by the upper barrier had the higher forecast; ties
 * count one half. `margin` is half its 95 % interval, from sums over blocks, because windows overlap and
 * coins move together: races are far from independent.
 *
 * @returns NaN where only one side ever won
 * @example
 * areaUnderCurve([
 *   { probability: 0.6, outcome: 1, block: 0 },
 *   { probability: 0.4, outcome: 0, block: 1 },
 * ]).auc === 1
 */
export function areaUnderCurve(forecasts: readonly Forecast[]): { auc: number; margin: number } {
  const ascending = forecasts.toSorted((a, b) => a.probability - b.probability)
  const wins = ascending.filter(({ outcome }) => outcome === 1).length
  const losses = ascending.length - wins

  // The share of the other side that a forecast stands on the right side of.
  const placements: number[] = []
  let winsBelow = 0
  let lossesBelow = 0
  for (let from = 0; from < ascending.length; ) {
    let to = from
    let tiedWins = 0
    while (to < ascending.length && ascending[to]?.probability === ascending[from]?.probability) {
      tiedWins += ascending[to]?.outcome ?? 0
      to += 1
    }
    const tiedLosses = to - from - tiedWins
    const ofWin = (lossesBelow + tiedLosses / 2) / losses
    const ofLoss = (wins - winsBelow - tiedWins / 2) / wins
    for (let index = from; index < to; index++)
      placements.push(ascending[index]?.outcome === 1 ? ofWin : ofLoss)
    winsBelow += tiedWins
    lossesBelow += tiedLosses
    from = to
  }

  let placed = 0
  for (const [index, { outcome }] of ascending.entries()) if (outcome === 1) placed += placements[index] ?? 0
  const auc = placed / wins
  const influence = new Map<number, number>()
  for (const [index, { outcome, block }] of ascending.entries()) {
    const share = ((placements[index] ?? 0) - auc) / (outcome === 1 ? wins : losses)
    influence.set(block, (influence.get(block) ?? 0) + share)
  }
  let variance = 0
  for (const share of influence.values()) variance += share * share
  return { auc, margin: NORMAL_95 * Math.sqrt(variance) }
}

/** Mean squared error of the forecasts; 0.25 is what always saying one half gets. */
export const brierScore = (forecasts: readonly Forecast[]): number =>
  forecasts.reduce((sum, { probability, outcome }) => sum + (probability - outcome) ** 2, 0) /
  forecasts.length
