import type { Coin } from '../../../contracts/domain/series.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** A perpetual contract of a venue. */
export interface VenueMarket {
  readonly coin: Coin
  /** Its symbol in ccxt. */
  readonly symbol: string
  /** Coins in one contract. */
  readonly contractSize: number
  /** Hours between its settlements at present, where the list says them. */
  readonly fundingHours: number | undefined
  /** False while the venue has suspended it, or prepares or ends its trading. */
  readonly isTraded: boolean
}

/** The present and former listings of a venue. */
export type VenueListings = ReturnType<typeof createVenueListings>

/** When a coin was last known to be traded, and how many lists there had been by then. */
interface Sighting {
  readonly at: number
  readonly lists: number
}

/** Lists that must lack a coin: after a long sleep the first one may be cut short. */
const FEWEST_LISTS = 3

/** @param now the present, Unix milliseconds */
export function createVenueListings(now: () => number) {
  const known = new Map<Coin, VenueMarket>()
  const sightings = new Map<Coin, Sighting>()
  let traded: ReadonlyMap<Coin, VenueMarket> = new Map()
  let begin: Sighting | undefined
  let newest: Sighting = { at: Number.NEGATIVE_INFINITY, lists: 0 }

  return {
    /** The contracts that are traded, by the newest list. */
    traded: (): ReadonlyMap<Coin, VenueMarket> => traded,
    /** A contract of any list so far, so that its bars can be asked for while a list lacks it. */
    find: (coin: Coin): VenueMarket | undefined => known.get(coin),
    takeList(markets: readonly VenueMarket[]): void {
      newest = { at: now(), lists: newest.lists + 1 }
      begin ??= newest
      const listed = new Map<Coin, VenueMarket>()
      for (const market of markets) {
        // The first traded contract of a coin counts.
        if (listed.get(market.coin)?.isTraded !== true) known.set(market.coin, market)
        if (market.isTraded && !listed.has(market.coin)) listed.set(market.coin, market)
      }
      for (const coin of listed.keys()) sightings.set(coin, newest)
      traded = listed
    },
    /** A bar of a coin came: it is traded, even if the list lacks it. */
    takeBar(coin: Coin, barClose: number): void {
      const sighting = sightings.get(coin)
      if (barClose > (sighting?.at ?? Number.NEGATIVE_INFINITY))
        sightings.set(coin, { at: barClose, lists: newest.lists })
    },
    /**
     * Whether a coin is gone for good, as far as anybody can tell: for a day no list has had it as traded, and no bar
     * of it came. Venues suspend contracts for minutes, and send lists that lack some.
     */
    isGone(coin: Coin): boolean {
      const last = sightings.get(coin) ?? begin
      if (last === undefined || traded.has(coin)) return false
      return newest.at - last.at >= LIMITS.venueGoneMs && newest.lists - last.lists >= FEWEST_LISTS
    },
  }
}
