import { ServiceError } from '../../contracts/errors.ts'
import { EXCHANGES, type Exchange } from '../../contracts/exchanges.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { nearestName } from '../../contracts/nearest-name.ts'
import type { Coin, Market } from '../../contracts/series.ts'
import type { ReplayFilter } from './replay-filter.ts'

export interface KnownNames {
  /** Whether the log has a verdict of the exchange, or of the coin on it; undefined where that is not known. */
  isRecorded(exchange: Exchange, coin?: Coin): boolean | undefined
  /** Every market that can be asked for. */
  markets(): Promise<readonly Market[]>
}

/**
 * Refuses a name of a filter that neither the log nor the market has: an answer without rows would read as one without
 * verdicts. Where no market is known, every name is taken.
 *
 * @throws ServiceError `unknown_exchange`, `unknown_coin`
 */
export async function requireKnownNames(
  { exchanges, coins }: ReplayFilter,
  known: KnownNames,
): Promise<void> {
  const among = exchanges ?? EXCHANGES
  const newExchanges = exchanges?.filter((one) => known.isRecorded(one) === false) ?? []
  const newCoins = coins?.filter((one) => among.every((at) => known.isRecorded(at, one) === false)) ?? []
  if (newExchanges.length + newCoins.length === 0) return
  const markets = await known.markets()
  if (markets.length === 0) return
  const followed = [...new Set(markets.map(({ exchange }) => exchange))].toSorted()
  const exchange = newExchanges.find((one) => !followed.includes(one))
  if (exchange !== undefined) {
    throw new ServiceError('unknown_exchange', {
      message: `${exchange} is neither followed nor recorded here; there are ${followed.join(', ')}`,
      details: { given: exchange, available: followed },
    })
  }
  const onThem = markets.filter((market) => among.includes(market.exchange))
  const available = [...new Set(onThem.map((market) => market.coin))].toSorted()
  const coin = newCoins.find((one) => !available.includes(one))
  if (coin !== undefined) throw unknownCoin(coin, exchanges ?? followed, available)
}

function unknownCoin(given: Coin, exchanges: readonly Exchange[], available: readonly Coin[]): ServiceError {
  const meant = nearestName(given, available)
  return new ServiceError('unknown_coin', {
    message: `there is no coin ${JSON.stringify(given)} on ${exchanges.join(', ')}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    details: {
      given,
      available: available.slice(0, LIMITS.namesInRefusal),
      total: available.length,
      ...(meant !== undefined && { did_you_mean: meant }),
    },
  })
}
