import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { byQuoteVolume, type Universe, type UniverseEntry } from '../../../contracts/domain/series.ts'
import { forecastShown, type Verdict } from '../../../contracts/domain/verdict.ts'
import { type ScanRow, type ScanTradeCallsRequest, verifyUrl } from '../../../contracts/tools/tool-schemas.ts'
import type { Lens, Seen } from './scan-lens.ts'

/** A coin of the universe with its verdict. */
export interface RankedCall extends Seen {
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
  by: Ranking | Lens,
  publicUrl: string,
): ScanRow[] {
  const lens = typeof by === 'string' ? undefined : by
  const sizeOf = typeof by === 'string' ? SIZE_BY[by] : by.sizeOf
  return found
    .filter(({ verdict }) => verdict.confidence >= request.min_confidence)
    .filter(({ verdict }) => request.include_holds || verdict.call !== 'HOLD')
    .toSorted((a, b) => byFigure(sizeOf(a), sizeOf(b)) || byQuoteVolume(a.entry, b.entry))
    .slice(0, request.limit)
    .map((row, index) => scanRow(row, index + 1, publicUrl, lens?.valueOf(row) ?? null))
}

/** The larger first; two that are not known are equal. */
const byFigure = (a: number, b: number): number => (a === b ? 0 : b - a)

const scanRow = (
  { entry, verdict }: RankedCall,
  rank: number,
  publicUrl: string,
  lensValue: number | null,
): ScanRow => ({
  rank,
  coin: entry.coin,
  call: verdict.call,
  confidence: verdict.confidence,
  strength: verdict.strength,
  regime: verdict.regime,
  price: verdict.price,
  change_24h: entry.change24h,
  quote_volume_24h: entry.quoteVolume24h,
  lens_value: lensValue,
  bar_close: isoTime(verdict.barClose),
  valid_until: isoTime(verdict.validUntil),
  ...forecastShown(verdict.forecast),
  verdict_id: verdict.verdictId,
  verify_url: verifyUrl(publicUrl, verdict),
})

/** The coins that a scan looks at: the largest by volume, or by a lens. */
export const scannedCoins = (
  { coins }: Pick<Universe, 'coins'>,
  request: Pick<ScanTradeCallsRequest, 'top_n' | 'min_liquidity_usd'>,
  lens?: Lens,
): readonly UniverseEntry[] => {
  const sizeOf = (entry: UniverseEntry): number => lens?.sizeOf({ entry }) ?? 0
  return coins
    .filter(({ quoteVolume24h }) => quoteVolume24h >= (request.min_liquidity_usd ?? 0))
    .toSorted((a, b) => byFigure(sizeOf(a), sizeOf(b)) || byQuoteVolume(a, b))
    .slice(0, request.top_n)
}
