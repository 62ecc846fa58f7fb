import type { ClosedBar } from '../../../contracts/domain/feed.ts'
import { assetOf, EXCHANGES, type Market, marketName } from '../../../contracts/domain/series.ts'
import { HOUR_MS, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** More coins than all venues rank would be a fault of the feed. */
export const MOST_MARKETS = EXCHANGES.length * LIMITS.universeCoins

/** The close of the newest bar of each market that is followed, to distinguish contracts of one name. */
export class LatestPrices {
  readonly #byMarket = new Map<string, { price: number; closedAt: number; goodUntil: number }>()

  take({ series, candle }: ClosedBar): void {
    const barMs = timeframeMs(series.timeframe)
    const closedAt = candle.openTime + barMs
    const name = marketName(series)
    const known = this.#byMarket.get(name)
    if (known === undefined ? this.#byMarket.size >= MOST_MARKETS : closedAt <= known.closedAt) return
    // The next bar may be late; a venue leaves out short bars in which nothing was traded.
    this.#byMarket.set(name, {
      price: candle.close,
      closedAt,
      goodUntil: closedAt + Math.max(HOUR_MS, 2 * barMs),
    })
  }

  /** Price of one unit of the asset of a contract; undefined if no fresh one is known. */
  ofAsset(market: Market, nowMs: number): number | undefined {
    const known = this.#byMarket.get(marketName(market))
    if (known === undefined || nowMs > known.goodUntil || !(known.price > 0)) return undefined
    return known.price / assetOf(market.coin).multiple
  }
}
