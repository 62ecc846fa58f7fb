/** Probability of the upper barrier from which a call begins, and where it ends again. */
export const BUY_ENTRY = 0.53
export const BUY_EXIT = 0.515
export const SELL_ENTRY = 0.47
export const SELL_EXIT = 0.485
