import type { RawFunding } from '../normalise-funding.ts'
import type { CcxtFundingRow } from './ccxt-client.ts'
import type { VenueDefinition } from './venues.ts'

/** Pages of one market's settlements, at most. */
const FUNDING_PAGES = 40

/**
 * The settlements of a market from an instant on, page by page. Venues that send the oldest first are paged
 * forwards, the others backwards, where they can be.
 */
export async function fetchFunding(
  { fundingRows, olderFunding, fundingHours }: VenueDefinition,
  since: number,
  now: number,
  fetchPage: (since: number, params: Readonly<Record<string, unknown>>) => Promise<readonly CcxtFundingRow[]>,
): Promise<readonly RawFunding[]> {
  const rows = new Map<number, RawFunding>()
  let from = since
  let params: Readonly<Record<string, unknown>> = {}
  for (let page = 1; page <= FUNDING_PAGES; page++) {
    const answer = await fetchPage(from, params)
    const before = rows.size
    for (const { timestamp, fundingRate, info } of answer) {
      // Some venues show the settlement to come among the past ones.
      if (timestamp === undefined || fundingRate === undefined || timestamp > now) continue
      const stated = fundingHours?.(info) ?? Number.NaN
      rows.set(timestamp, {
        time: timestamp,
        rate: fundingRate,
        ...(stated > 0 && { intervalHours: stated }),
      })
    }
    if (rows.size === before || answer.length < fundingRows) break
    const times = [...rows.keys()]
    if (olderFunding === undefined) from = Math.max(...times) + 1
    else params = olderFunding(page + 1, Math.min(...times))
  }
  return [...rows.values()]
}
