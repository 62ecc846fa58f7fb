/** Bars that the averages of a bar's variance reach back. None reaches so far that a fresh start would show for long. */
export const VARIANCE_BARS = [2, 8, 32, 128] as const
/** And those of how far the price went within windows. */
export const MOVE_BARS = [50, 200] as const

/** What a forecast is made of: the averages of variance, then those of moves. */
export const MEASURES = VARIANCE_BARS.length + MOVE_BARS.length
