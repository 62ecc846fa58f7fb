import {
  type Coin,
  EXCHANGES,
  type Exchange,
  type Market,
  type Series,
} from '../../contracts/domain/series.ts'
import type { Timeframe } from '../../contracts/domain/timeframes.ts'
import type { Call, Verdict } from '../../contracts/domain/verdict.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import { didYouMean, nearestName } from '../../contracts/infra/input-faults.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { EventFilter } from '../log/event-store.ts'

/** Which verdicts a replay shows; a part that is absent matches everything. */
export interface ReplayFilter {
  readonly exchanges?: readonly Exchange[]
  readonly coins?: readonly Coin[]
  readonly timeframes?: readonly Timeframe[]
  readonly calls?: readonly Call[]
  /** Bar close, Unix milliseconds, inclusive. */
  readonly from?: number
  /** Bar close, Unix milliseconds, exclusive. */
  readonly to?: number
}

/** How the names of the streams begin that hold events of a type. */
export const STREAM_PREFIXES = { VerdictRecorded: 'verdict-', OutcomeLabelled: 'outcome-' } as const

/** The part of the filter that the store applies: the type, and streams by exchange and coin. */
export function storeFilter(
  { exchanges, coins }: ReplayFilter,
  type: keyof typeof STREAM_PREFIXES,
): EventFilter {
  const types = [type]
  if (exchanges === undefined) return { types }
  const markets = coins === undefined ? exchanges.map((exchange) => `${exchange}.`) : []
  for (const exchange of exchanges) for (const coin of coins ?? []) markets.push(`${exchange}.${coin}.`)
  return { types, streamPrefixes: markets.map((market) => `${STREAM_PREFIXES[type]}${market}`) }
}

/** Whether a filter asks for verdicts of a series. */
export const isOfSeries = ({ exchanges, coins, timeframes }: ReplayFilter, series: Series): boolean =>
  (exchanges === undefined || exchanges.includes(series.exchange)) &&
  (coins === undefined || coins.includes(series.coin)) &&
  (timeframes === undefined || timeframes.includes(series.timeframe))

/** Whether a verdict or its outcome fits a filter, also in what the store has filtered by already. */
export const matchesFilter = (
  filter: ReplayFilter,
  verdict: Series & Pick<Verdict, 'barClose' | 'call'>,
): boolean =>
  verdict.barClose >= (filter.from ?? 0) &&
  verdict.barClose < (filter.to ?? Number.POSITIVE_INFINITY) &&
  (filter.calls === undefined || filter.calls.includes(verdict.call)) &&
  isOfSeries(filter, verdict)

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
    message: `there is no coin ${JSON.stringify(given)} on ${exchanges.join(', ')}${didYouMean(meant)}`,
    details: {
      given,
      available: available.slice(0, LIMITS.namesInRefusal),
      total: available.length,
      ...(meant !== undefined && { did_you_mean: meant }),
    },
  })
}
