import type { RecordCoin } from '../../contracts/answers/track-record.ts'
import { parseSeriesName } from '../../contracts/domain/series.ts'
import { wilsonInterval } from '../../contracts/domain/statistics.ts'
import type { Timeframe } from '../../contracts/domain/timeframes.ts'
import { NO_CALLS, SERIES_PREFIX, type TrackRecord } from '../../projections/index.ts'
import type { TrackRecordSource } from './track-record-report.ts'

const BASIS_POINTS = 10_000
const PAGE = 1_000

const SUMMED = ['calls', 'reached', 'wins', 'ups', 'downs', 'trades', 'net'] as const

type Sums = Record<(typeof SUMMED)[number] | 'series' | 'verdicts', number>

const NOTHING: Sums = { series: 0, verdicts: 0, ...NO_CALLS }

/**
 * The track record by coin: the records of all series of a coin added up, for each model, in the order of models and
 * coins. Costs a look at the record of every series, so that its answer is to be kept for a while.
 */
export function recordCoins(
  source: Pick<TrackRecordSource, 'range'>,
  { timeframe }: { readonly timeframe?: Timeframe | undefined },
): RecordCoin[] {
  const sums = new Map<string, { modelVersion: string; coin: string; sums: Sums }>()
  let after: string | undefined
  for (;;) {
    const page = source.range({ prefix: SERIES_PREFIX, limit: PAGE, ...(after !== undefined && { after }) })
    for (const { row } of page) add(row as TrackRecord)
    after = page.at(-1)?.key
    if (page.length < PAGE) break
  }
  return [...sums.values()]
    .toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
    .map(({ modelVersion, coin, sums: all }) => toRow(modelVersion, coin, all))

  function add({ modelVersion, series, timeframe: of, verdicts, apart }: TrackRecord): void {
    const coin = series === null ? undefined : parseSeriesName(series)?.coin
    if (coin === undefined || (timeframe !== undefined && timeframe !== of)) return
    const name = `${modelVersion} ${coin}`
    const known = sums.get(name) ?? { modelVersion, coin, sums: { ...NOTHING } }
    known.sums.series += 1
    known.sums.verdicts += verdicts
    for (const field of SUMMED) known.sums[field] += apart[field]
    sums.set(name, known)
  }
}

const key = ({ modelVersion, coin }: { readonly modelVersion: string; readonly coin: string }): string =>
  `${modelVersion} ${coin}`

function toRow(modelVersion: string, coin: string, sums: Sums): RecordCoin {
  const { reached, trades, net, ups, downs, ...counts } = sums
  const ratio = (part: number): number | null => (reached === 0 ? null : part / reached)
  return {
    model_version: modelVersion,
    coin,
    series: counts.series,
    verdicts: counts.verdicts,
    calls: counts.calls,
    reached,
    wins: counts.wins,
    win_rate: wilsonInterval(counts.wins, reached) ?? null,
    trades,
    net_mean_bps: trades === 0 ? null : (BASIS_POINTS * net) / trades,
    always_buy: ratio(ups),
    always_sell: ratio(downs),
    random: ratio((ups + downs) / 2),
  }
}
