import { ServiceError } from '../../contracts/errors.ts'
import type { Exchange } from '../../contracts/exchanges.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Position } from '../../contracts/position.ts'
import { type Coin, parseSeriesName } from '../../contracts/series.ts'
import type { Timeframe } from '../../contracts/timeframes.ts'
import type { SpeechAnswerRow, TrackRecordAnswer, TrackRecordRow } from '../../contracts/track-record-row.ts'
import { wilsonInterval } from '../../contracts/wilson-interval.ts'
import { SERIES_PREFIX, type SpeechRow, TIMEFRAME_PREFIX, type TrackRecord } from '../../projections/index.ts'

export interface TrackRecordQuery {
  readonly groupBy: 'series' | 'timeframe'
  /** Of a pooled record they match nothing. */
  readonly exchange?: Exchange
  readonly coin?: Coin
  readonly timeframe?: Timeframe
  readonly modelVersion?: string
  /** Key of the last row of the page before. */
  readonly after?: string
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
  /** Key to go on behind; undefined at the end. */
  readonly next: string | undefined
}

/** Records looked at for one page, so that a filter that matches little does not hold the others up. */
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
  const bins = reliabilityOf(record)
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
      net_mean_bps: meanBps(apart.net, apart.trades),
      t: blockT(record),
      blocks: record.blocks.blocks,
    },
    recorded_late: record.recordedLate,
    bars_missed: record.barsMissed,
    baselines: {
      always_buy: {
        win_rate: ratio(apart.ups, apart.reached),
        net_mean_bps: meanBps(apart.buyNet, apart.trades),
      },
      always_sell: {
        win_rate: ratio(apart.downs, apart.reached),
        net_mean_bps: meanBps(apart.sellNet, apart.trades),
      },
      random: {
        win_rate: ratio((apart.ups + apart.downs) / 2, apart.reached),
        net_mean_bps: meanBps((apart.buyNet + apart.sellNet) / 2, apart.trades),
      },
    },
  }
}

/** How a model does of late at a timeframe. */
export function speechRow(row: SpeechRow): SpeechAnswerRow {
  const since = (row.withdrawn ?? row.restored)?.from
  return {
    model_version: row.modelVersion,
    timeframe: row.timeframe,
    state: row.withdrawn === null ? 'speaks' : 'withdrawn',
    since: since === undefined ? null : isoTime(since),
    auc_180d: row.auc,
    races_180d: row.races,
    days_running: row.running,
  }
}

function reliabilityOf({ reliability }: TrackRecord): TrackRecordRow['reliability'] {
  return reliability.flatMap(({ races, wins, said }, index) => {
    if (races === 0) return []
    const to = index === reliability.length - 1 ? 1 : (51 + index) / 100
    return [{ from: (50 + index) / 100, to, races, said: said / races, happened: wins / races }]
  })
}

function calibrationError(bins: TrackRecordRow['reliability']): number | null {
  const races = bins.reduce((sum, bin) => sum + bin.races, 0)
  const distance = bins.reduce((sum, bin) => sum + bin.races * Math.abs(bin.said - bin.happened), 0)
  return ratio(distance, races)
}

/** With fewer independent blocks their spread says nothing. */
const FEWEST_BLOCKS = 5

/**
 * How many standard errors the mean net return is away from 0. The error comes from the sums of the blocks,
 * because returns within one depend on one another.
 */
function blockT({ apart, blocks }: TrackRecord): number | null {
  if (blocks.blocks < FEWEST_BLOCKS) return null
  const mean = apart.net / apart.trades
  const squares = blocks.ss - 2 * mean * blocks.ns + mean * mean * blocks.nn
  // What is left of equal sums after subtracting them is rounding.
  if (squares <= 1e-12 * blocks.ss) return null
  return (mean * apart.trades) / Math.sqrt(squares)
}
