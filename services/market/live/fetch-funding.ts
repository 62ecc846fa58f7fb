import type { RawFunding } from '../normalise-funding.ts'
import type { CcxtFundingRow } from './ccxt-client.ts'
import type { VenueDefinition } from './venues.ts'

type Params = Readonly<Record<string, unknown>>

/** Pages of one market's settlements, at most. */
const FUNDING_PAGES = 40

/**
 * The settlements of a market from an instant on, page by page. Venues that send the oldest first are paged forwards
 * from there. The others are paged backwards from the present: a page that begins at an instant would be empty where
 * the contract is younger.
 */
export async function fetchFunding(
  { fundingRows, olderFunding, fundingHours }: VenueDefinition,
  since: number,
  now: number,
  fetchPage: (since: number | undefined, params: Params) => Promise<readonly CcxtFundingRow[]>,
): Promise<readonly RawFunding[]> {
  const rows = new Map<number, RawFunding>()
  let from = olderFunding === undefined ? since : undefined
  let params: Params = {}
  for (let page = 1; page <= FUNDING_PAGES; page++) {
    const answer = await fetchPage(from, params)
    const before = rows.size
    let oldest: CcxtFundingRow | undefined
    for (const row of answer) {
      const { timestamp, fundingRate, info } = row
      // Some venues show the settlement to come among the past ones.
      if (timestamp === undefined || fundingRate === undefined || timestamp > now) continue
      const stated = fundingHours?.(info) ?? Number.NaN
      rows.set(timestamp, {
        time: timestamp,
        rate: fundingRate,
        ...(stated > 0 && { intervalHours: stated }),
      })
      if (timestamp < (oldest?.timestamp ?? Number.POSITIVE_INFINITY)) oldest = row
    }
    if (rows.size === before || answer.length < fundingRows || oldest?.timestamp === undefined) break
    if (olderFunding === undefined) from = Math.max(...rows.keys()) + 1
    else if (oldest.timestamp <= since) break
    else params = olderFunding(page + 1, oldest.timestamp, oldest.info)
  }
  return [...rows.values()].filter(({ time }) => time >= since)
}
