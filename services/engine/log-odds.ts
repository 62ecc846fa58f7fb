/**
 * What a feature adds to the log-odds; nothing where it cannot be measured.
 *
 * @param value NaN where it cannot be measured
 * @param inverseScale one over the unit of the feature
 * @param clip scaled values are clipped to ± this
 */
export function contributionOf(value: number, inverseScale: number, weight: number, clip: number): number {
  if (Number.isNaN(value)) return 0
  const scaled = value * inverseScale
  return weight * (scaled > clip ? clip : scaled < -clip ? -clip : scaled)
}

export const probabilityOf = (logOdds: number): number => 1 / (1 + Math.exp(-logOdds))
