import type { RecordMonth } from '../../../contracts/record-month.ts'
import type { TrackRecordRow } from '../../../contracts/track-record-row.ts'
import { wilsonInterval } from '../../../contracts/wilson-interval.ts'

/** Forecasts within one percent of one another, over all rows. */
export interface ReliabilityBin {
  readonly from: number
  readonly to: number
  readonly races: number
  readonly wins: number
  /** Mean of what was said. */
  readonly said: number
}

export function pooledReliability(rows: readonly TrackRecordRow[]): ReliabilityBin[] {
  const bins = new Map<number, { from: number; to: number; races: number; wins: number; sum: number }>()
  for (const { from, to, races, said, happened } of rows.flatMap(({ reliability }) => reliability)) {
    const bin = bins.get(from) ?? { from, to, races: 0, wins: 0, sum: 0 }
    bin.races += races
    bin.wins += Math.round(happened * races)
    bin.sum += said * races
    bins.set(from, bin)
  }
  return [...bins.values()]
    .toSorted((a, b) => a.from - b.from)
    .map(({ sum, ...bin }) => ({ ...bin, said: sum / bin.races }))
}

type Flat = Readonly<Record<string, string | number | null>>

/** Figures that can be had as CSV, by name. */
export const FIGURES = ['reliability', 'win-rate', 'months', 'series'] as const
export type Figure = (typeof FIGURES)[number]

export const reliabilityTable = (rows: readonly TrackRecordRow[]): Flat[] =>
  pooledReliability(rows).map(({ from, to, races, wins, said }) => {
    const interval = wilsonInterval(wins, races)
    const { value: happened = null, low = null, high = null } = interval ?? {}
    return { from, to, races, wins, said, happened, low, high }
  })

export const winRateTable = (rows: readonly TrackRecordRow[]): Flat[] =>
  rows.map(({ non_overlapping: apart, baselines, ...row }) => ({
    model_version: row.model_version,
    exchange: row.exchange,
    coin: row.coin,
    timeframe: row.timeframe,
    verdicts: row.verdicts,
    calls: apart.calls,
    reached: apart.reached,
    wins: apart.wins,
    win_rate: apart.win_rate?.value ?? null,
    low: apart.win_rate?.low ?? null,
    high: apart.win_rate?.high ?? null,
    always_buy: baselines.always_buy.win_rate,
    always_sell: baselines.always_sell.win_rate,
    random: baselines.random.win_rate,
    net_mean_bps: apart.net_mean_bps,
    t: apart.t,
    brier: row.brier,
    calibration_error: row.calibration_error,
  }))

/** Months over all timeframes and models that are there, oldest first. */
export function pooledMonths(rows: readonly RecordMonth[]) {
  const months = new Map<string, Omit<RecordMonth, 'model_version' | 'timeframe'>>()
  for (const { model_version: _model, timeframe: _timeframe, ...row } of rows) {
    const before = months.get(row.month)
    if (before === undefined) months.set(row.month, row)
    else {
      const sums = Object.entries(row).map(([name, value]) => {
        const sum = typeof value === 'number' ? value + Number(before[name as keyof typeof before]) : value
        return [name, sum]
      })
      months.set(row.month, Object.fromEntries(sums) as typeof before)
    }
  }
  return [...months.values()].toSorted((a, b) => (a.month < b.month ? -1 : 1))
}
