import type { FundingUpdate } from '../../../contracts/domain/feed.ts'
import { assetOf, type Coin, EXCHANGES, type Exchange, marketName } from '../../../contracts/domain/series.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { type LatestPrices, MOST_MARKETS } from './latest-prices.ts'
import { MarketFunding } from './market-funding.ts'

/** The funding history of many markets, from which {@link scanFundingArb} answers. */
export type FundingRates = ReturnType<typeof createFundingRates>

const orderOf = ({ market }: MarketFunding): number => EXCHANGES.indexOf(market.exchange)

/** How much history a scan looks back on: the span of the figures in docs/funding.md. */
export const FUNDING_HISTORY_DAYS = 90

/**
 * Creates rates without any history.
 *
 * @param keepDays UTC days of history kept of every market, up to that of its newest settlement: 2 to 366
 * @param prices pairs whose prices do not confirm that they are of one asset are left out; without it pairs are compared
 *   by name, as in a study of recorded settlements whose coins are known
 */
export function createFundingRates(options: { readonly keepDays: number; readonly prices?: LatestPrices }) {
  const { keepDays, prices } = options
  if (!Number.isInteger(keepDays) || keepDays < 2 || keepDays > 366) {
    throw new ServiceError('internal_error', {
      message: `Funding rates cannot keep ${keepDays} days; give a whole number from 2 to 366.`,
    })
  }
  const byCoin = new Map<Coin, MarketFunding[]>()
  let coins: readonly Coin[] = []
  let marketCount = 0

  return {
    keepDays,
    prices,
    /** Markets with at least one settlement. */
    get marketCount(): number {
      return marketCount
    },
    /** Exchanges with at least one settlement, in the order of the exchange codes. */
    get exchanges(): readonly Exchange[] {
      const present = new Set([...byCoin.values()].flat().map(({ market }) => market.exchange))
      return EXCHANGES.filter((exchange) => present.has(exchange))
    },
    /** Coins with at least one settlement, by name; contracts by multiples (1000PEPE, KPEPE) are of one coin. */
    get coins(): readonly Coin[] {
      return coins
    },

    /**
     * Takes a settlement as the feed gives it, in any order and however often.
     *
     * @throws ServiceError `internal_error` for what cannot be a settlement
     */
    take({ market, funding }: FundingUpdate): void {
      const { asset } = assetOf(market.coin)
      const markets = byCoin.get(asset) ?? []
      const known = markets.find((candidate) => marketName(candidate.market) === marketName(market))
      if (known !== undefined) {
        known.take(funding)
        return
      }
      if (marketCount === MOST_MARKETS) {
        throw new ServiceError('internal_error', {
          message: `Funding rates are full with ${MOST_MARKETS} markets; follow fewer coins.`,
        })
      }
      const added = new MarketFunding(market, keepDays, funding)
      byCoin.set(
        asset,
        [...markets, added].toSorted((a, b) => orderOf(a) - orderOf(b)),
      )
      if (markets.length === 0) coins = [...byCoin.keys()].toSorted()
      marketCount += 1
    },

    /** The markets of a coin in the order of the exchange codes; any name of a contract of the coin finds them. */
    marketsOf: (coin: Coin): readonly MarketFunding[] => byCoin.get(assetOf(coin).asset) ?? [],
  }
}
