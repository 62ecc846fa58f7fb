import { marketName } from '../../../contracts/domain/series.ts'
import { countText, listText } from '../../../contracts/domain/statistics.ts'
import type { ScanFundingArbRequest } from '../../../contracts/tools/tool-schemas.ts'
import {
  type Candidate,
  type Comparison,
  LEAST_COMMON_DAYS,
  MOST_APART,
  STALE_INTERVALS,
  type VenuePair,
} from './compare-venues.ts'
import type { FundingRates } from './funding-rates.ts'

/** Names that a sentence lists before it says how many more there are. */
const NAMES_LISTED = 5

interface NoteInput {
  readonly rates: FundingRates
  /** Coins that were looked for, and the best pair where none passed. */
  readonly wanted: readonly string[]
  readonly comparison: Comparison
  readonly best: (VenuePair & { readonly netBps: number }) | undefined
  readonly request: Pick<ScanFundingArbRequest, 'min_net_bps' | 'holding_hours'>
}

/** Says why an answer is empty, and what was left out of it and why; null where there is neither to say. */
export function scanNote({ rates, wanted, comparison, best, request }: NoteInput): string | null {
  if (rates.marketCount === 0) return 'No funding has been settled here yet.'
  const { pairs, unconfirmed, stale, tooShort } = comparison
  const unknown = wanted.filter((coin) => rates.marketsOf(coin).length === 0)
  const isAlone = pairs.length + unconfirmed.length + tooShort.length === 0 && unknown.length < wanted.length
  const sentences = [
    unknown.length > 0 &&
      `There is no funding history of ${listed(unknown)}; there is of ${listed(rates.coins)}.`,
    stale.length > 0 &&
      `Left out, with no settlement for more than ${STALE_INTERVALS} intervals: ${listed(stale.map(({ market }) => marketName(market)))}.`,
    tooShort.length > 0 &&
      `Not compared, with fewer than ${LEAST_COMMON_DAYS} whole days of history in common or a gap in the last 24 hours: ${listed(tooShort.map(pairText))}.`,
    unconfirmed.length > 0 &&
      `Not compared, because the prices of both contracts must be known and within ${100 * MOST_APART} % of each other to be of one asset: ${listed(unconfirmed.map(pricesText))}.`,
    isAlone &&
      `A pair takes the same coin on two exchanges; there is funding history here of ${listed(rates.exchanges)}.`,
    best !== undefined &&
      `Of ${countText(pairs.length, 'pair')}, the best is ${best.coin} long ${best.long.market.exchange} and short ${best.short.market.exchange}, expected to net ${best.netBps} bps in ${request.holding_hours} h; that is below min_net_bps ${request.min_net_bps}.`,
  ].filter((sentence) => sentence !== false)
  return sentences.length === 0 ? null : sentences.join(' ')
}

const listed = (names: readonly string[]): string => listText(names, NAMES_LISTED)

const pairText = ([first, second]: readonly [Candidate, Candidate]): string =>
  `${first.coin} on ${first.market.market.exchange} and ${second.market.market.exchange}`

function pricesText([first, second]: readonly [Candidate, Candidate]): string {
  const [one, other] = [first, second].map(({ market, price }) => {
    const text = price === undefined ? 'no price' : String(Number(price.toPrecision(5)))
    return `${market.market.exchange} ${text}`
  })
  return `${first.coin} on ${one} and ${other}`
}
