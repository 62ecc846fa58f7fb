import type { FundingRate } from '../../../contracts/domain/candle.ts'
import type { Market } from '../../../contracts/domain/series.ts'
import { HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { normaliseFunding } from '../normalise-funding.ts'
import type { Venue } from './venue.ts'

/** The settled funding of one market. What venues show of the settlement to come is an estimate, and left out. */
export type FundingTrack = ReturnType<typeof createFundingTrack>

/** Venues publish a settlement some seconds to a minute after it. */
const PUBLISHED_AFTER_MS = MINUTE_MS

/** How soon to ask again for a settlement that may be there any moment, and for one that is overdue. */
const ASK_SOON_MS = 15_000
const ASK_AGAIN_MS = 5 * MINUTE_MS

/** Settlements fetched again, since an interval is inferred from those around it. */
const OVERLAP = 4

/**
 * A settlement whose interval turns out to be another, by those after it, is delivered once more.
 *
 * @param from the earliest settlement wanted, Unix milliseconds
 */
export function createFundingTrack(venue: Venue, market: Market, from: number, now: () => number) {
  let newest: FundingRate | undefined
  let askedAt = Number.NEGATIVE_INFINITY

  const presentHours = (): number | undefined => venue.fundingHours(market.coin)

  return {
    venue,
    market,
    /** When it is worth asking again, Unix milliseconds. */
    dueAt(): number {
      if (newest === undefined) return askedAt + ASK_AGAIN_MS
      const present = presentHours()
      // Venues say a longer interval before the last one of the shorter has been settled.
      const hours = Math.min(newest.intervalHours, present ?? Number.POSITIVE_INFINITY)
      const due = newest.time + hours * HOUR_MS + PUBLISHED_AFTER_MS
      // The interval may have changed, and any full hour may settle.
      const nextHour =
        (Math.floor((askedAt - PUBLISHED_AFTER_MS) / HOUR_MS) + 1) * HOUR_MS + PUBLISHED_AFTER_MS
      const late = askedAt - due
      if (late < 0) return present === undefined ? Math.min(due, nextHour) : due
      const isLonger = present !== undefined && askedAt < newest.time + present * HOUR_MS + PUBLISHED_AFTER_MS
      if (isLonger) return nextHour
      return Math.min(nextHour, askedAt + (late < PUBLISHED_AFTER_MS ? ASK_SOON_MS : ASK_AGAIN_MS))
    },
    /** Fetches what was settled since the last time; oldest first. */
    async fetch(signal: AbortSignal): Promise<readonly FundingRate[]> {
      const since = newest === undefined ? from : newest.time - OVERLAP * newest.intervalHours * HOUR_MS
      const rows = await venue.funding(market, Math.max(0, since), signal)
      askedAt = now()
      const present = presentHours()
      // A single settlement does not tell its interval: it is taken once a second one is there.
      const canTell =
        rows.length > 1 || present !== undefined || rows.some(({ intervalHours }) => intervalHours)
      const funding = canTell ? normaliseFunding(rows, market, present) : []
      const after = newest?.time ?? from - 1
      const corrected = (one: FundingRate): boolean =>
        one.time === newest?.time && one.intervalHours !== newest.intervalHours
      const fresh = funding.filter((one) => one.time > after || corrected(one))
      newest = fresh.at(-1) ?? newest
      return fresh
    },
  }
}
