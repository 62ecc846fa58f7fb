import { basename } from 'node:path'
import { cellFault, type FundingRate } from '../../../contracts/domain/candle.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { normaliseFunding, type RawFunding } from '../normalise-funding.ts'
import { createInstantReader, type InstantOptions } from './read-instants.ts'
import { type HeaderRules, type RowBlock, type RowCheck, readRows } from './read-rows.ts'
import type { Recording } from './recording.ts'

const CANDLE_COLUMNS = ['ts', 'open', 'high', 'low', 'close', 'volume'] as const
const FUNDING_COLUMNS = ['ts', 'rate', 'interval'] as const

/** The columns of the public kline files of Binance; those of before 2022 have no header. */
const KLINE_COLUMNS =
  'open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore'.split(
    ',',
  )

const CANDLE_HEADERS: HeaderRules = {
  names: { open_time: 'ts' },
  ignored: KLINE_COLUMNS.slice(CANDLE_COLUMNS.length),
  withoutHeader: KLINE_COLUMNS,
}

const FUNDING_HEADERS: HeaderRules = {
  names: { calc_time: 'ts', last_funding_rate: 'rate', funding_interval_hours: 'interval' },
  optional: ['interval'],
  withoutHeader: ['calc_time', 'funding_interval_hours', 'last_funding_rate'],
}

const LONGEST_INTERVAL_HOURS = 48

/** Summary of a first reading of a whole recording. Times are Unix milliseconds. */
export interface RecordingSummary {
  /** Rows up to the end of the period that is replayed. */
  readonly rows: number
  /** Open time of the first bar, or time of the first settlement. */
  readonly first: number
  /** Close time of the last bar, or time of the last settlement. */
  readonly last: number
  /** Bars that are missing between the first and the last, and the longest stretch without any. */
  readonly missing: number
  readonly hole: { readonly from: number; readonly to: number }
}

/**
 * Candle rows of a recording as blocks of six numbers a row, each row checked.
 *
 * @throws ServiceError `market_data_damaged`, `market_data_missing`
 */
export const readCandleRows = (
  recording: Recording,
  timeframe: Timeframe,
  options: InstantOptions = {},
): AsyncGenerator<RowBlock, void, undefined> =>
  readParts(recording, CANDLE_COLUMNS, CANDLE_HEADERS, candleFault, createInstantReader(options, timeframe))

/**
 * All settlements of a recording, at most a few per day and so held as a whole.
 *
 * @throws ServiceError `market_data_damaged`, `market_data_missing`
 */
export async function readFunding(
  recording: Recording,
  options: InstantOptions = {},
): Promise<readonly FundingRate[]> {
  const settlements: RawFunding[] = []
  const instants = createInstantReader(options)
  const blocks = readParts(recording, FUNDING_COLUMNS, FUNDING_HEADERS, fundingFault, instants)
  for await (const { rows, count } of blocks) {
    for (let row = 0; row < count; row++) {
      const [time = 0, rate = 0, hours = 0] = rows.subarray(row * FUNDING_COLUMNS.length)
      settlements.push({ time, rate, ...(hours > 0 && { intervalHours: hours }) })
    }
  }
  return normaliseFunding(settlements, recording.market)
}

async function* readParts(
  { path, name, parts = [] }: Recording,
  columns: readonly string[],
  headers: HeaderRules,
  faultOf: RowCheck,
  instants: ReturnType<typeof createInstantReader>,
): AsyncGenerator<RowBlock, void, undefined> {
  for (const part of [path, ...parts]) {
    const partName = parts.length === 0 ? name : basename(part)
    const read = instants(partName)
    const check: RowCheck = (rows, offset) => {
      const instant = read(rows[offset] as number)
      if (typeof instant === 'string') return { column: 'ts', fault: instant }
      rows[offset] = instant
      return faultOf(rows, offset)
    }
    yield* readRows(part, partName, columns, check, headers)
  }
}

/** The rule of the engine. */
const candleFault: RowCheck = (rows, at) =>
  cellFault(
    rows[at + 1] as number,
    rows[at + 2] as number,
    rows[at + 3] as number,
    rows[at + 4] as number,
    rows[at + 5] as number,
  )

const fundingFault: RowCheck = (rows, at) => {
  const [rate, hours] = [rows[at + 1] as number, rows[at + 2] as number]
  if (Math.abs(rate) > 1) return { column: 'rate', fault: 'is not a fraction between -1 and 1' }
  const isInterval = hours >= 0 && hours <= LONGEST_INTERVAL_HOURS
  return isInterval
    ? undefined
    : { column: 'interval', fault: `is not a number of hours up to ${LONGEST_INTERVAL_HOURS}` }
}

/**
 * Reads a whole file once, so that damage shows before anything is replayed, and a replay knows its length.
 *
 * @param to bars that close after it do not count
 * @throws ServiceError `market_data_damaged`, `market_data_missing`
 */
export async function summarise(
  recording: Recording,
  to: number,
  options: InstantOptions = {},
): Promise<RecordingSummary> {
  const { content } = recording
  const summary = { rows: 0, first: Number.NaN, last: Number.NaN, missing: 0, hole: { from: 0, to: 0 } }
  if (content === 'funding') {
    const times = (await readFunding(recording, options)).map(({ time }) => time).filter((time) => time <= to)
    return {
      ...summary,
      rows: times.length,
      first: times.at(0) ?? Number.NaN,
      last: times.at(-1) ?? Number.NaN,
    }
  }
  const lengthMs = timeframeMs(content)
  for await (const { rows, count } of readCandleRows(recording, content, options)) {
    for (let row = 0; row < count; row++) {
      const opens = rows[row * CANDLE_COLUMNS.length] as number
      if (opens + lengthMs > to) continue
      if (summary.rows === 0) summary.first = opens
      else if (opens > summary.last) {
        summary.missing += (opens - summary.last) / lengthMs
        const isLongest = opens - summary.last > summary.hole.to - summary.hole.from
        if (isLongest) summary.hole = { from: summary.last, to: opens }
      }
      summary.last = opens + lengthMs
      summary.rows++
    }
  }
  return summary
}
