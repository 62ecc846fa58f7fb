/** What each factor of a verdict measures, by its formula; the indicators in it are explained elsewhere. */
const MEANINGS = new Map([
  ['momentum_24', 'log return over 24 bars / (realised volatility × √24)'],
  ['momentum_48', 'log return over 48 bars / (realised volatility × √48)'],
  ['rsi_distance', '(RSI14 − 50) / 50'],
  ['ema_gap_9_21', '(EMA9 − EMA21) / ATR50'],
  ['price_to_ema50', '(close − EMA50) / ATR50'],
  ['signed_adx', '(+DI − −DI) / (+DI + −DI) × ADX14 / 100'],
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
