import { basename } from 'node:path'
import type { FundingRate } from '../../../contracts/funding.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { FLOW_COLUMNS } from '../live/kept/kept-bar.ts'
import { normaliseFunding, type RawFunding } from '../normalise-funding.ts'
import { type RowBlock, type RowCheck, readRows } from './read-rows.ts'
import type { Recording } from './recording.ts'

const CANDLE_COLUMNS = ['ts', 'open', 'high', 'low', 'close', 'volume'] as const
const FUNDING_COLUMNS = ['ts', 'rate'] as const

/** Summary of a first reading of a whole file. Times are Unix milliseconds. */
export interface RecordingSummary {
  /** Rows up to the end of the period that is replayed. */
  readonly rows: number
  /** Open time of the first bar, or time of the first settlement. */
  readonly first: number
  /** Close time of the last bar, or time of the last settlement. */
  readonly last: number
}

/**
 * Candle rows of a file as blocks of six numbers a row, each row checked.
 *
 * @throws ServiceError `market_data_damaged`, `market_data_missing`
 */
export async function* readCandleRows(
  recording: Recording,
  timeframe: Timeframe,
): AsyncGenerator<RowBlock, void, undefined> {
  const check = candleCheck(timeframe)
  for (const [path, name] of filesOf(recording))
    yield* readRows(path, name, CANDLE_COLUMNS, check, FLOW_COLUMNS)
}

const filesOf = ({ path, name, parts = [] }: Recording): (readonly [path: string, name: string])[] => [
  [path, parts.length === 0 ? name : basename(path)],
  ...parts.map((part) => [part, basename(part)] as const),
]

/**
 * All settlements of a funding file, at most a few per day and so held as a whole.
 *
 * @throws ServiceError `market_data_damaged`, `market_data_missing`
 */
export async function readFunding(recording: Recording): Promise<readonly FundingRate[]> {
  const settlements: RawFunding[] = []
  for await (const { rows, count } of readRows(
    recording.path,
    recording.name,
    FUNDING_COLUMNS,
    fundingCheck(),
  )) {
    for (let row = 0; row < count; row++) {
      settlements.push({ time: rows[row * 2] as number, rate: rows[row * 2 + 1] as number })
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
export async function summarise(recording: Recording, to: number): Promise<RecordingSummary> {
  const { content } = recording
  let rows = 0
  let first = Number.NaN
  let last = Number.NaN
  const take = (opens: number, closes: number): void => {
    if (closes > to) return
    if (rows === 0) first = opens
    last = closes
    rows++
  }
  if (content === 'funding') {
    for (const { time } of await readFunding(recording)) take(time, time)
    return { rows, first, last }
  }
  const lengthMs = timeframeMs(content)
  for await (const block of readCandleRows(recording, content)) {
    for (let row = 0; row < block.count; row++) {
      const opens = block.rows[row * CANDLE_COLUMNS.length] as number
      take(opens, opens + lengthMs)
    }
  }
  return { rows, first, last }
}

/** The rule of `candleFault`, over a row of numbers and naming the column. */
function candleCheck(timeframe: Timeframe): RowCheck {
  const lengthMs = timeframeMs(timeframe)
  const isRising = risingTimes()
  return (rows, offset) => {
    const opens = rows[offset] as number
    if (!Number.isSafeInteger(opens) || opens < 0)
      return { column: 'ts', fault: 'is not a time in milliseconds' }
    if (opens % lengthMs !== 0) {
      return {
        column: 'ts',
        fault: `is not the open time of a ${timeframe} bar, which counts from midnight UTC`,
      }
    }
    if (!isRising(opens)) return { column: 'ts', fault: 'is not later than the row before' }
    for (let field = 1; field <= 4; field++) {
      if (!((rows[offset + field] as number) > 0)) {
        return { column: CANDLE_COLUMNS[field] as string, fault: 'is not a positive price' }
      }
    }
    const open = rows[offset + 1] as number
    const close = rows[offset + 4] as number
    if ((rows[offset + 2] as number) < Math.max(open, close))
      return { column: 'high', fault: 'is below open or close' }
    if ((rows[offset + 3] as number) > Math.min(open, close))
      return { column: 'low', fault: 'is above open or close' }
    if (!((rows[offset + 5] as number) >= 0)) return { column: 'volume', fault: 'is less than 0' }
    return undefined
  }
}

function fundingCheck(): RowCheck {
  const isRising = risingTimes()
  return (rows, offset) => {
    const time = rows[offset] as number
    if (!Number.isSafeInteger(time) || time < 0)
      return { column: 'ts', fault: 'is not a time in milliseconds' }
    if (!isRising(time)) return { column: 'ts', fault: 'is not later than the row before' }
    if (Math.abs(rows[offset + 1] as number) > 1)
      return { column: 'rate', fault: 'is not a fraction between -1 and 1' }
    return undefined
  }
}

function risingTimes(): (time: number) => boolean {
  let last = Number.NEGATIVE_INFINITY
  return (time) => {
    if (time <= last) return false
    last = time
    return true
  }
}
