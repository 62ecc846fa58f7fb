/** The formula of each factor of a verdict; its indicators are explained elsewhere. */
const MEANINGS = new Map([
  [
    'range_position',
    '(2 × close − highest − lowest) / (highest − lowest) of the highs and lows of the last 48 bars; 0 where they are one',
  ],
  [
    'wick_balance',
    'average of (lower shadow − upper shadow) / ATR50, which forgets exponentially over 8 bars',
  ],
  ['momentum_12', 'log return over 12 bars / (realised volatility × √12)'],
  ['momentum_24', 'log return over 24 bars / (realised volatility × √24)'],
  ['momentum_96', 'log return over 96 bars / (realised volatility × √96)'],
  ['price_to_ema50', '(close − EMA50) / ATR50'],
  [
    'volume_momentum',
    'average of r × (√(volume / its average) − 1), r being the log return of a bar / realised volatility; both averages forget exponentially, over 8 and 50 bars; unavailable where there is no volume',
  ],
  [
    'funding_level',
    'last settled funding rate as a fraction a year; unavailable when none is known, or once three intervals have passed without one',
  ],
])

/**
 * The meaning of a factor in one line.
 *
 * @throws Error for a factor that is not in the table, which a new model may bring
 */
export function featureMeaning(name: string): string {
  const meaning = MEANINGS.get(name)
  if (meaning === undefined) {
    throw new Error(`The factor ${name} has no meaning written down; add it to feature-meanings.ts.`)
  }
  return meaning
}
