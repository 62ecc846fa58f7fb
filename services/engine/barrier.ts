/** Barriers are never nearer than this fraction of the entry price: below it, costs decide the race. */
export const BARRIER_FLOOR = 0.003

/** Nor farther: the lower one has to lie above zero. */
export const BARRIER_CAP = 0.9

/**
 * Distance of both barriers of a verdict's race from its entry price, as a fraction of it: one standard
 * deviation of the move to be expected within the window.
 *
 * @param deviationPerBar standard deviation of log returns, per bar
 * @param windowBars bars in which the race is decided
 */
export const barrierFraction = (deviationPerBar: number, windowBars: number): number =>
  Math.min(BARRIER_CAP, Math.max(BARRIER_FLOOR, deviationPerBar * Math.sqrt(windowBars)))
