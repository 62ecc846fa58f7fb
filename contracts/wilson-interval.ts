/** A share with the ends of its 95 % interval. */
export interface ShareInterval {
  readonly value: number
  readonly low: number
  readonly high: number
}

/** Half-width of a 95 % interval, in standard errors. */
const NORMAL_95 = 1.959_964

/**
 * Wilson's 95 % interval of a share. It takes the trials as independent.
 *
 * @returns undefined without trials
 * @example wilsonInterval(50, 100) // { value: 0.5, low: 0.404, high: 0.596 }
 */
export function wilsonInterval(successes: number, trials: number): ShareInterval | undefined {
  if (trials === 0) return undefined
  const share = successes / trials
  const square = NORMAL_95 ** 2
  const centre = share + square / (2 * trials)
  const margin = NORMAL_95 * Math.sqrt((share * (1 - share)) / trials + square / (4 * trials ** 2))
  const scale = 1 + square / trials
  return { value: share, low: (centre - margin) / scale, high: (centre + margin) / scale }
}
