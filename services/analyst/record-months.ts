import type { RecordMonth } from '../../contracts/answers/track-record.ts'
import type { Timeframe } from '../../contracts/domain/timeframes.ts'
import { MONTH_PREFIX, type MonthTally } from '../../projections/index.ts'

const BASIS_POINTS = 10_000

/** Months of the track record, oldest first within a model and timeframe; at most as many as a page of a read model. */
export function recordMonthsReport(
  source: {
    range(options: {
      prefix: string
      limit: number
    }): readonly { readonly key: string; readonly row: unknown }[]
  },
  { timeframe, limit }: { readonly timeframe?: Timeframe | undefined; readonly limit: number },
): RecordMonth[] {
  return source.range({ prefix: MONTH_PREFIX, limit }).flatMap(({ key, row }) => {
    const [, modelVersion = '', of = '', month = ''] = key.split('/')
    if (timeframe !== undefined && of !== timeframe) return []
    const { calls, reached, wins, trades, net, buyNet, sellNet, ranges } = row as MonthTally
    const sums = {
      net_bps: net,
      always_buy_bps: buyNet,
      always_sell_bps: sellNet,
      random_bps: (buyNet + sellNet) / 2,
    }
    const rounded = Object.fromEntries(
      Object.entries(sums).map(([name, sum]) => [name, Math.round(BASIS_POINTS * sum * 100) / 100]),
    ) as typeof sums
    return [
      {
        model_version: modelVersion,
        timeframe: of as Timeframe,
        month,
        calls,
        reached,
        wins,
        trades,
        ...rounded,
        forecasts: ranges.forecasts,
        within_80: ranges.within80,
        within_50: ranges.within50,
      },
    ]
  })
}
