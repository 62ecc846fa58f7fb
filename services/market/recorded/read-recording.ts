import { basename } from 'node:path'
import { cellFault } from '../../../contracts/candle.ts'
import type { FundingRate } from '../../../contracts/funding.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { FLOW_COLUMNS } from '../live/kept/kept-bar.ts'
import { normaliseFunding, type RawFunding } from '../normalise-funding.ts'
import { InstantReader, type InstantOptions as ReadOptions } from './read-instants.ts'
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
  ignored: [...FLOW_COLUMNS, ...KLINE_COLUMNS.slice(CANDLE_COLUMNS.length)],
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
  /** Bars that are missing between the first and the last. */
  readonly missing: number
  /** The longest stretch without bars. */
  readonly hole: { readonly from: number; readonly to: number }
}

/**
 * Candle rows of a file as blocks of six numbers a row, each row checked.
 *
 * @throws ServiceError `market_data_damaged`, `market_data_missing`
 */
export async function* readCandleRows(
  recording: Recording,
  timeframe: Timeframe,
  options: ReadOptions = {},
): AsyncGenerator<RowBlock, void, undefined> {
  const instants = new InstantReader(options)
  const check = candleCheck(timeframe, instants)
  for (const [path, name] of filesOf(recording)) {
    instants.beginFile(name)
    yield* readRows(path, name, CANDLE_COLUMNS, check, CANDLE_HEADERS)
  }
}

const filesOf = ({ path, name, parts = [] }: Recording): (readonly [path: string, name: string])[] => [
  [path, parts.length === 0 ? name : basename(path)],
  ...parts.map((part) => [part, basename(part)] as const),
]

/**
 * All settlements of a recording, at most a few per day and so held as a whole.
 *
 * @throws ServiceError `market_data_damaged`, `market_data_missing`
 */
export async function readFunding(
  recording: Recording,
  options: ReadOptions = {},
): Promise<readonly FundingRate[]> {
  const settlements: RawFunding[] = []
  const instants = new InstantReader(options)
  const check = fundingCheck(instants)
  for (const [path, name] of filesOf(recording)) {
    instants.beginFile(name)
    for await (const { rows, count } of readRows(path, name, FUNDING_COLUMNS, check, FUNDING_HEADERS)) {
      for (let at = 0; at < count * FUNDING_COLUMNS.length; at += FUNDING_COLUMNS.length) {
        const intervalHours = rows[at + 2] as number
        settlements.push({
          time: rows[at] as number,
          rate: rows[at + 1] as number,
          ...(intervalHours > 0 && { intervalHours }),
        })
      }
    }
  }
  return normaliseFunding(settlements, recording.market)
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
  options: ReadOptions = {},
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

/** The rule of the engine, which names the column here, and the grid of the timeframe. */
function candleCheck(timeframe: Timeframe, instants: InstantReader): RowCheck {
  const lengthMs = timeframeMs(timeframe)
  return (rows, offset) => {
    const instant = instants.read(rows[offset] as number)
    if ('fault' in instant) return { column: 'ts', fault: instant.fault }
    const { ms, unit } = instant
    if (ms % lengthMs !== 0) {
      const read = unit === 'milliseconds' ? '' : `(${unit}) `
      const fault = `${read}is not the open time of a ${timeframe} bar, which counts from midnight UTC`
      return { column: 'ts', fault }
    }
    if (!instants.advance(instant)) return { column: 'ts', fault: 'is not later than the row before' }
    rows[offset] = ms
    const found = cellFault(
      rows[offset + 1] as number,
      rows[offset + 2] as number,
      rows[offset + 3] as number,
      rows[offset + 4] as number,
      rows[offset + 5] as number,
    )
    return found && { column: found.cell, fault: found.fault }
  }
}

function fundingCheck(instants: InstantReader): RowCheck {
  return (rows, offset) => {
    const instant = instants.read(rows[offset] as number)
    if ('fault' in instant) return { column: 'ts', fault: instant.fault }
    if (!instants.advance(instant)) return { column: 'ts', fault: 'is not later than the row before' }
    if (Math.abs(rows[offset + 1] as number) > 1)
      return { column: 'rate', fault: 'is not a fraction between -1 and 1' }
    const hours = rows[offset + 2] as number
    if (hours < 0 || hours > LONGEST_INTERVAL_HOURS)
      return { column: 'interval', fault: `is not a number of hours up to ${LONGEST_INTERVAL_HOURS}` }
    rows[offset] = instant.ms
    return undefined
  }
}
