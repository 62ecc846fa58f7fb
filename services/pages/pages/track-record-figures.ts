import type { RecordCoin } from '../../../contracts/record-coin.ts'
import type { RecordMonth } from '../../../contracts/record-month.ts'
import type { TrackRecordRow } from '../../../contracts/track-record-row.ts'
import { wilsonInterval } from '../../../contracts/wilson-interval.ts'

export type ReliabilityBin = ReturnType<typeof reliabilityTable>[number]

/**
 * The probabilities beside the outcomes, by percent and over all rows. Windows of most races overlap, so the 95 % interval
 * stands on as many races as do not.
 */
export function reliabilityTable(rows: readonly Pick<TrackRecordRow, 'reliability'>[]) {
  const bins = new Map<number, Record<'from' | 'to' | 'races' | 'non_overlapping' | 'wins' | 'sum', number>>()
  for (const { from, to, races, non_overlapping, said, happened } of rows.flatMap((row) => row.reliability)) {
    const bin = bins.get(from) ?? { from, to, races: 0, non_overlapping: 0, wins: 0, sum: 0 }
    bin.races += races
    bin.non_overlapping += non_overlapping
    bin.wins += Math.round(happened * races)
    bin.sum += said * races
    bins.set(from, bin)
  }
  return [...bins.values()]
    .toSorted((a, b) => a.from - b.from)
    .map(({ sum, ...bin }) => {
      const happened = bin.wins / bin.races
      const { low = 0, high = 1 } = wilsonInterval(happened * bin.non_overlapping, bin.non_overlapping) ?? {}
      return { ...bin, said: sum / bin.races, happened, low, high }
    })
}

export type Flat = Readonly<Record<string, string | number | null>>

/** The figures that are served as CSV. */
export const FIGURES = [
  'reliability',
  'equity',
  'win-rate',
  'months',
  'coins',
  'series',
  'undecided',
] as const
export type Figure = (typeof FIGURES)[number]

export const winRateTable = (rows: readonly TrackRecordRow[]) =>
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

export const coinTable = (rows: readonly RecordCoin[]) =>
  rows.map(({ win_rate: rate, ...row }) => ({
    ...row,
    win_rate: rate?.value ?? null,
    low: rate?.low ?? null,
    high: rate?.high ?? null,
  }))

/** The lines of the picture of equity: sums up to the end of each month, percent of one unit. */
export function equityTable(rows: readonly RecordMonth[]): Flat[] {
  const sums = { calls: 0, always_buy: 0, always_sell: 0, coin: 0 }
  return pooledMonths(rows).map((one) => {
    sums.calls += one.net_bps
    sums.always_buy += one.always_buy_bps
    sums.always_sell += one.always_sell_bps
    sums.coin += one.random_bps
    const percent = Object.entries(sums).map(([name, bps]) => [`${name}_percent`, Math.round(bps) / 100])
    return { month: one.month, ...(Object.fromEntries(percent) as Record<string, number>) }
  })
}

/** The verdicts that the figures leave out, and why. */
export const undecidedTable = (rows: readonly TrackRecordRow[]) =>
  rows.map((row) => ({
    model_version: row.model_version,
    timeframe: row.timeframe,
    reached_no_barrier: row.races.timeout,
    bars_missing: row.races.incomplete,
    recorded_late: Object.values(row.recorded_late).reduce((a, b) => a + b, 0),
    bars_without_verdict: row.bars_missed,
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
