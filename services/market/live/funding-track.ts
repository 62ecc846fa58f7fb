import type { FundingRate } from '../../../contracts/funding.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Market } from '../../../contracts/series.ts'
import { HOUR_MS, MINUTE_MS } from '../../../contracts/timeframes.ts'
import { normaliseFunding } from '../normalise-funding.ts'
import type { Venue } from './venue.ts'

/** The settled funding of one market. What venues show of the settlement to come is an estimate, and left out. */
export interface FundingTrack {
  readonly venue: Venue
  readonly market: Market
  /** When it is worth asking again, Unix milliseconds. */
  dueAt(): number
  /** Fetches what was settled since the last time; oldest first. */
  fetch(signal: AbortSignal): Promise<readonly FundingRate[]>
}

/** Venues publish a settlement some seconds to a minute after it. */
const PUBLISHED_AFTER_MS = MINUTE_MS

/** How soon to ask again for a settlement that is not there yet. */
const ASK_AGAIN_MS = 5 * MINUTE_MS

/** Settlements fetched again, since an interval is told from those around it. */
const OVERLAP = 4

/** @param from the earliest settlement wanted, Unix milliseconds */
export function createFundingTrack(
  venue: Venue,
  market: Market,
  from: number,
  now: () => number,
): FundingTrack {
  let newest: FundingRate | undefined
  let dueAt = Number.NEGATIVE_INFINITY

  return {
    venue,
    market,
    dueAt: () => dueAt,
    async fetch(signal) {
      const since = newest === undefined ? from : newest.time - OVERLAP * newest.intervalHours * HOUR_MS
      const rows = await venue.funding(market, Math.max(0, since), signal)
      dueAt = now() + ASK_AGAIN_MS
      // Of a single settlement nobody can tell the interval: it is taken when the second one is there.
      const canTell = rows.length > 1 || rows.some(({ intervalHours }) => intervalHours !== undefined)
      const { funding } = canTell ? normaliseFunding(rows, market) : { funding: [] }
      const after = newest?.time ?? Math.max(from, now() - LIMITS.venueFundingMs) - 1
      const fresh = funding.filter(({ time }) => time > after)
      const last = fresh.at(-1)
      if (last !== undefined) {
        newest = last
        dueAt = Math.max(dueAt, last.time + last.intervalHours * HOUR_MS + PUBLISHED_AFTER_MS)
      }
      return fresh
    },
  }
}
