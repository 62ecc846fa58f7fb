import type {
  SpeechAnswerRow,
  TrackRecordAnswer,
  TrackRecordRow,
} from '../../contracts/answers/track-record.ts'
import { isoTime } from '../../contracts/domain/iso-time.ts'
import { ROUND_TRIP_COST } from '../../contracts/domain/outcome.ts'
import { type Coin, type Exchange, parseSeriesName } from '../../contracts/domain/series.ts'
import { FEWEST_BLOCKS, halfWidth95, wilsonInterval } from '../../contracts/domain/statistics.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { Position } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import {
  SERIES_PREFIX,
  type SpeechRow,
  speechWindowDays,
  TIMEFRAME_PREFIX,
  type TrackRecord,
} from '../../projections/index.ts'

export interface TrackRecordQuery {
  readonly groupBy: 'series' | 'timeframe'
  /** A pooled record has no exchange and matches none. */
  readonly exchange?: Exchange | undefined
  readonly coin?: Coin | undefined
  readonly timeframe?: Timeframe | undefined
  readonly modelVersion?: string | undefined
  /** Key of the last row of the page before. */
  readonly after?: string | undefined
  readonly limit: number
}

/** The read model that the report is made of. */
export interface TrackRecordSource {
  range(options: { prefix: string; after?: string; limit: number }): readonly {
    readonly key: string
    readonly row: unknown
  }[]
  /** Up to where its rows hold the log. */
  position(): Position
}

export interface TrackRecordPage extends Pick<TrackRecordAnswer, 'rows'> {
  readonly asOf: Position
  /** Key to continue after; undefined at the end. */
  readonly next: string | undefined
}

/** Most records read for one page, so that a filter that matches little does not delay other callers. */
const RECORDS_PER_PAGE = 5 * LIMITS.rowsPerPage

/**
 * A page of the track record, in the order of model version and series.
 *
 * @throws ServiceError `invalid_request` for a page that is not of this grouping: it would look like the end.
 */
export function trackRecordReport(source: TrackRecordSource, query: TrackRecordQuery): TrackRecordPage {
  const { groupBy, modelVersion, limit } = query
  const prefix = groupBy === 'series' ? SERIES_PREFIX : TIMEFRAME_PREFIX
  const scope = modelVersion === undefined ? prefix : `${prefix}${modelVersion}/`
  const asOf = source.position()
  const rows: TrackRecordRow[] = []
  let { after } = query
  if (after !== undefined && !after.startsWith(prefix)) {
    throw new ServiceError('invalid_request', {
      message: `after: must be the \`next\` of an answer that was grouped by ${groupBy}`,
      details: { fields: [{ field: 'after', problem: `is not of an answer grouped by ${groupBy}` }] },
    })
  }
  for (let looked = 0; looked < RECORDS_PER_PAGE; looked += LIMITS.rowsPerPage) {
    const found = source.range({ prefix: scope, limit: LIMITS.rowsPerPage, ...(after && { after }) })
    for (const { key, row } of found) {
      if (rows.length === limit) return { asOf, rows, next: after }
      after = key
      const record = row as TrackRecord
      if (matches(query, record)) rows.push(trackRecordRow(record))
    }
    if (found.length < LIMITS.rowsPerPage) return { asOf, rows, next: undefined }
  }
  return { asOf, rows, next: after }
}

function matches(query: TrackRecordQuery, { series, timeframe }: TrackRecord): boolean {
  if (query.timeframe !== undefined && query.timeframe !== timeframe) return false
  const { exchange, coin } = (series === null ? undefined : parseSeriesName(series)) ?? {}
  return (
    (query.exchange === undefined || query.exchange === exchange) &&
    (query.coin === undefined || query.coin === coin)
  )
}

const BASIS_POINTS = 10_000

const ratio = (sum: number, count: number): number | null => (count === 0 ? null : sum / count)
const meanBps = (sum: number, count: number): number | null => ratio(BASIS_POINTS * sum, count)

/** The figures of a record. */
export function trackRecordRow(record: TrackRecord): TrackRecordRow {
  const { brier, brierSpoken, spoken, apart } = record
  const { exchange = null, coin = null } = (record.series && parseSeriesName(record.series)) || {}
  const bins = reliabilityOf(record.reliability)
  // Until this release has folded the log, the rows of a former one answer, and have none.
  return {
    model_version: record.modelVersion,
    exchange,
    coin,
    timeframe: record.timeframe,
    from: record.from === null ? null : isoTime(record.from),
    to: record.to === null ? null : isoTime(record.to),
    verdicts: record.verdicts,
    calls: record.calls,
    races: record.races,
    spoken_races: record.spokenRaces,
    brier: ratio(brier.squares, brier.races),
    brier_races: brier.races,
    brier_spoken: ratio(brierSpoken.squares, brierSpoken.races),
    brier_spoken_races: brierSpoken.races,
    calibration_error: calibrationError(bins),
    reliability: bins,
    spoken: {
      calls: spoken.calls,
      reached: spoken.reached,
      wins: spoken.wins,
      net_mean_bps: meanBps(spoken.net, spoken.trades),
    },
    non_overlapping: {
      calls: apart.calls,
      reached: apart.reached,
      wins: apart.wins,
      win_rate: wilsonInterval(apart.wins, apart.reached) ?? null,
      trades: apart.trades,
      timed_out: apart.trades - apart.reached,
      in_favour: wilsonInterval(apart.inFavour, apart.trades) ?? null,
      gross_mean_bps: grossBps(apart.net, apart.trades),
      net_mean_bps: meanBps(apart.net, apart.trades),
      mean_margin_bps: marginBps(record),
      t: blockT(record),
      blocks: record.blocks.blocks,
    },
    recorded_late: record.recordedLate,
    bars_missed: record.barsMissed,
    ranges: rangesOf(record),
    baselines: {
      always_buy: baselineOf(apart, apart.ups, apart.buyInFavour, apart.buyNet),
      always_sell: baselineOf(apart, apart.downs, apart.sellInFavour, apart.sellNet),
      random: baselineOf(
        apart,
        (apart.ups + apart.downs) / 2,
        (apart.buyInFavour + apart.sellInFavour) / 2,
        (apart.buyNet + apart.sellNet) / 2,
      ),
    },
  }
}

/** Before costs: a trade has them taken off once. */
const grossBps = (net: number, trades: number): number | null =>
  meanBps(net + trades * ROUND_TRIP_COST, trades)

/** Results of the calls of a tally, had all taken one side. */
const baselineOf = (
  { reached, trades }: TrackRecord['apart'],
  wins: number,
  inFavour: number,
  net: number,
): TrackRecordRow['baselines']['random'] => ({
  win_rate: ratio(wins, reached),
  in_favour: ratio(inFavour, trades),
  gross_mean_bps: grossBps(net, trades),
  net_mean_bps: meanBps(net, trades),
})

/** Coverage is of all forecasts, and as sure as those make it whose windows do not overlap. */
function rangesOf({ ranges, rangesApart }: TrackRecord): TrackRecordRow['ranges'] {
  const { forecasts, below, within80, within50, pinball } = ranges
  const covered = forecasts === 0 ? 0 : within80 / forecasts
  return {
    forecasts,
    non_overlapping: rangesApart,
    coverage_80: wilsonInterval(covered * rangesApart, rangesApart) ?? null,
    coverage_50: ratio(within50, forecasts),
    below: ratio(below, forecasts),
    above: ratio(forecasts - below - within80, forecasts),
    pinball_bps: meanBps(pinball, forecasts),
  }
}

/** The timeframes of a model, as its file has them. */
export interface ModelTimeframes {
  readonly version: string
  readonly timeframes: Readonly<
    Record<Timeframe, { readonly calls: true } | { readonly calls: false; readonly reason: string }>
  >
}

/**
 * Whether a model makes calls at each timeframe, and how it did there of late.
 *
 * @param judged by its outcomes, where there are any
 * @param withdrawn why calls at a timeframe are withdrawn for now; undefined if they are not
 */
export function speechRows(
  { version, timeframes }: ModelTimeframes,
  judged: Iterable<SpeechRow>,
  withdrawn: (timeframe: Timeframe) => string | undefined,
): SpeechAnswerRow[] {
  const rows = [...judged].filter(({ modelVersion }) => modelVersion === version)
  return TIMEFRAMES.map((timeframe) => {
    const row = rows.find((one) => one.timeframe === timeframe)
    const skill = timeframes[timeframe]
    const reason = skill.calls ? withdrawn(timeframe) : skill.reason
    const since = row?.changes.at(-1)?.from
    return {
      model_version: version,
      timeframe,
      state: reason === undefined ? 'calls' : skill.calls ? 'withdrawn' : 'silent',
      reason: reason ?? null,
      since: since === undefined ? null : isoTime(since),
      window_days: speechWindowDays(timeframe),
      auc_180d: row?.auc ?? null,
      races_180d: row?.races ?? 0,
      days_running: row?.running ?? 0,
    }
  })
}

function reliabilityOf(reliability: TrackRecord['reliability']): TrackRecordRow['reliability'] {
  return reliability.flatMap(({ races, wins, said, apart }, index) => {
    if (races === 0) return []
    const to = index === reliability.length - 1 ? 1 : (51 + index) / 100
    const means = { said: said / races, happened: wins / races }
    // Until this release has folded the log, the rows of a former one answer, and do not say it.
    return [{ from: (50 + index) / 100, to, races, non_overlapping: apart ?? 0, ...means }]
  })
}

function calibrationError(bins: TrackRecordRow['reliability']): number | null {
  const races = bins.reduce((sum, bin) => sum + bin.races, 0)
  const distance = bins.reduce((sum, bin) => sum + bin.races * Math.abs(bin.said - bin.happened), 0)
  return ratio(distance, races)
}

/** Standard error of the sum of net returns, from the sums of the blocks: returns within one depend on one another. */
function errorOfSum({ apart, blocks }: TrackRecord): number | null {
  if (blocks.blocks < FEWEST_BLOCKS) return null
  const mean = apart.net / apart.trades
  const squares = blocks.ss - 2 * mean * blocks.ns + mean * mean * blocks.nn
  // Equal sums leave a rounding error when they are subtracted.
  return squares <= 1e-12 * blocks.ss ? null : Math.sqrt(squares)
}

/** How many standard errors the mean net return is away from 0. */
function blockT(record: TrackRecord): number | null {
  const error = errorOfSum(record)
  return error === null ? null : record.apart.net / error
}

/** Half the 95 % interval of the mean return; costs are the same for all, so it is that of the gross mean too. */
function marginBps(record: TrackRecord): number | null {
  const error = errorOfSum(record)
  return error === null ? null : meanBps(halfWidth95(record.blocks.blocks) * error, record.apart.trades)
}
