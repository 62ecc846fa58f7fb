import { marketName } from '../../../contracts/series.ts'
import type { ScanFundingArbRequest } from '../../../contracts/tools/scan-funding-arb.ts'
import { type Comparison, LEAST_COMMON_DAYS, STALE_INTERVALS, type VenuePair } from './compare-venues.ts'
import type { FundingRates } from './funding-rates.ts'

/** Names that a sentence lists before it says how many more there are. */
const NAMES_LISTED = 5

interface NoteInput {
  readonly rates: FundingRates
  /** Coins that were looked for. */
  readonly wanted: readonly string[]
  readonly comparison: Comparison
  /** The best pair, where none passed. */
  readonly best: (VenuePair & { readonly netBps: number }) | undefined
  readonly request: Pick<ScanFundingArbRequest, 'min_net_bps' | 'holding_hours'>
}

/** Says why an answer is empty, and what was left out of it and why; null where there is neither to say. */
export function scanNote({ rates, wanted, comparison, best, request }: NoteInput): string | null {
  if (rates.marketCount === 0) return 'No funding has been settled here yet.'
  const { pairs, stale, pairsTooShort } = comparison
  const sentences: string[] = []
  const unknown = wanted.filter((coin) => rates.marketsOf(coin).length === 0)
  if (unknown.length > 0) {
    sentences.push(`There is no funding history of ${listed(unknown)}; there is of ${listed(rates.coins)}.`)
  }
  if (stale.length > 0) {
    const names = listed(stale.map(({ market }) => marketName(market)))
    sentences.push(`Left out, with no settlement for more than ${STALE_INTERVALS} intervals: ${names}.`)
  }
  if (pairsTooShort > 0) {
    sentences.push(
      `Not compared, with fewer than ${LEAST_COMMON_DAYS} whole days of history in common or a gap in the last 24 hours: ${counted(pairsTooShort)}.`,
    )
  }
  if (pairs.length === 0 && pairsTooShort === 0 && unknown.length < wanted.length) {
    sentences.push(
      `A pair takes the same coin on two exchanges; there is funding history here of ${listed(rates.exchanges)}.`,
    )
  }
  if (best !== undefined) {
    const { coin, long, short, netBps } = best
    sentences.push(
      `Of ${counted(pairs.length)}, the best is ${coin} long ${long.market.exchange} and short ${short.market.exchange}, expected to net ${netBps} bps in ${request.holding_hours} h; that is below min_net_bps ${request.min_net_bps}.`,
    )
  }
  return sentences.length === 0 ? null : sentences.join(' ')
}

const counted = (pairs: number): string => `${pairs} ${pairs === 1 ? 'pair' : 'pairs'}`

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_LISTED).join(', ')
  return names.length <= NAMES_LISTED ? shown : `${shown} and ${names.length - NAMES_LISTED} more`
}
