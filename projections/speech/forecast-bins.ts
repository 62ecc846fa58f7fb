/** Forecasts are counted in bins this wide; those within one tie, which moves the area by less than a thousandth. */
const BIN_WIDTH = 0.002
/** Forecasts live between 40 and 60 %; the first and the last bin take what lies beyond. */
const LOWEST = 0.4
export const BINS = 102

/** @example binOf(0.5) === 51 && binOf(0.1) === 0 && binOf(0.99) === 101 */
export const binOf = (probability: number): number =>
  Math.min(BINS - 1, Math.max(0, 1 + Math.floor((probability - LOWEST) / BIN_WIDTH + 1e-9)))

/**
 * Area under the ROC curve of binned forecasts: the chance that a race which the upper barrier won had the higher
 * forecast than one that the lower barrier won; ties count one half.
 *
 * @returns `auc` NaN where only one side ever won
 */
export function areaUnder(
  up: Float64Array,
  down: Float64Array,
): { readonly auc: number; readonly ups: number; readonly downs: number } {
  let [ups, downs, placed] = [0, 0, 0]
  for (let bin = 0; bin < BINS; bin++) {
    const [won, lost] = [up[bin] ?? 0, down[bin] ?? 0]
    placed += won * (downs + lost / 2)
    ups += won
    downs += lost
  }
  return { auc: placed / (ups * downs), ups, downs }
}
