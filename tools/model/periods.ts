/** Weights were fitted on windows over before this instant, and the form of the ranges chosen on later ones. */
export const CHOOSE_FROM = Date.UTC(2024, 6, 1)
/** Nothing was chosen on windows that begin from here on. */
export const UNTOUCHED_FROM = Date.UTC(2025, 6, 1)
export const ALWAYS = Number.POSITIVE_INFINITY

/** Every so many-th item, so that no more than a number are left, evenly spread. */
export function spread<Item>(items: readonly Item[], most: number): readonly Item[] {
  const step = Math.ceil(items.length / most)
  return step <= 1 ? items : items.filter((_, index) => index % step === 0)
}
