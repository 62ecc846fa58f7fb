import { isoTime } from '../../../contracts/iso-time.ts'
import type { ScanRow, ScanTradeCallsRequest } from '../../../contracts/tools/scan-trade-calls.ts'
import { verifyUrl } from '../../../contracts/tools/tool-fields.ts'
import { byQuoteVolume, type Universe, type UniverseEntry } from '../../../contracts/universe.ts'
import { forecastShown, type Verdict } from '../../../contracts/verdict.ts'

/** A coin of the universe with its verdict. */
export interface RankedCall {
  readonly entry: UniverseEntry
  readonly verdict: Verdict
}

/** Rankings of rows. */
export type Ranking = Exclude<ScanTradeCallsRequest['rank_by'], 'expected_return'>

/** How large a row is by each ranking; what is not known comes last. */
const SIZE_BY: Readonly<Record<Ranking, (row: RankedCall) => number>> = {
  strength: ({ verdict }) => verdict.strength,
  expected_range: ({ verdict: { forecast } }) => (forecast === null ? -1 : forecast.p90 - forecast.p10),
  confidence: ({ verdict }) => verdict.confidence,
  volume: ({ entry }) => entry.quoteVolume24h,
  change: ({ entry }) => (entry.change24h === null ? -1 : Math.abs(entry.change24h)),
}

/** The rows of a scan: those that pass its filters, largest first, equal ones by volume and then by name. */
export function rankCalls(
  found: readonly RankedCall[],
  request: Pick<ScanTradeCallsRequest, 'min_confidence' | 'include_holds' | 'limit'>,
  ranking: Ranking,
  publicUrl: string,
): ScanRow[] {
  const sizeOf = SIZE_BY[ranking]
  return found
    .filter(({ verdict }) => verdict.confidence >= request.min_confidence)
    .filter(({ verdict }) => request.include_holds || verdict.call !== 'HOLD')
    .toSorted((a, b) => sizeOf(b) - sizeOf(a) || byQuoteVolume(a.entry, b.entry))
    .slice(0, request.limit)
    .map((row, index) => scanRow(row, index + 1, publicUrl))
}

const scanRow = ({ entry, verdict }: RankedCall, rank: number, publicUrl: string): ScanRow => ({
  rank,
  coin: entry.coin,
  call: verdict.call,
  confidence: verdict.confidence,
  strength: verdict.strength,
  regime: verdict.regime,
  price: verdict.price,
  change_24h: entry.change24h,
  quote_volume_24h: entry.quoteVolume24h,
  bar_close: isoTime(verdict.barClose),
  valid_until: isoTime(verdict.validUntil),
  ...forecastShown(verdict.forecast),
  verdict_id: verdict.verdictId,
  verify_url: verifyUrl(publicUrl, verdict),
})

/** The largest coins of a venue; undefined where it does not say what they are to be measured by. */
export function largestCoins(
  { coins }: Universe,
  by: ScanTradeCallsRequest['universe_by'],
  count: number,
): readonly UniverseEntry[] | undefined {
  if (by === 'volume') return coins.slice(0, count)
  const known = coins.flatMap((entry) =>
    entry.openInterest === null ? [] : [{ entry, size: entry.openInterest }],
  )
  if (known.length === 0) return undefined
  return known
    .toSorted((a, b) => b.size - a.size || byQuoteVolume(a.entry, b.entry))
    .slice(0, count)
    .map(({ entry }) => entry)
}
