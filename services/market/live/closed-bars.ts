import { type Candle, candleFault } from '../../../contracts/domain/candle.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { DAY_MS, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { toMilliseconds } from '../instant-unit.ts'

/**
 * The closed bars of an answer, oldest first, one per open time. Venues send rows oldest or newest first, repeat bars
 * where pages overlap (the later row wins), and end with the bar that is still open. Some have sent prices of zero
 * and highs below their close: such a row is left out, because the next page would begin with it again.
 *
 * @param now the venue's time when it answered, Unix milliseconds
 * @param onFault receives the first fault and the number of faulty rows
 * @throws ServiceError `market_data_damaged` when half of the rows or more are faulty: then the answer has another
 *   format than expected.
 */
export function closedBars(
  rows: readonly Candle[],
  {
    series,
    now,
    onFault,
  }: {
    readonly series: Series
    readonly now: number
    readonly onFault: (fault: string, rows: number) => void
  },
): readonly Candle[] {
  const lengthMs = timeframeMs(series.timeframe)
  const faults: string[] = []
  const closed = new Map<number, Candle>()
  for (const row of rows) {
    const fault = instantFault(row.openTime, now) ?? candleFault(row) ?? gridFault(row.openTime, series)
    if (fault !== undefined) faults.push(fault)
    else if (row.openTime + lengthMs <= now) closed.set(row.openTime, row)
  }
  const [first] = faults
  if (first !== undefined) {
    const fault = `${faults.length} of ${rows.length} rows are no bars, such as: ${first}`
    onFault(fault, faults.length)
    if (faults.length * 2 >= rows.length) {
      const message = `${seriesName(series)}: ${fault}`
      throw new ServiceError('market_data_damaged', { message, details: { series: seriesName(series) } })
    }
  }
  return [...closed.values()].toSorted((a, b) => a.openTime - b.openTime)
}

/** Why a time, converted where it can be, is none of the past, or undefined where it is one. */
export function instantFault(time: number, now: number): string | undefined {
  const read = toMilliseconds(time)
  if (read?.unit === 'ms' && read.ms <= now + DAY_MS) return undefined
  const unit =
    read === undefined ? 'no unit fits' : `read as ${read.unit}: ${new Date(read.ms).toISOString()}`
  return `time ${time} is not from 2009-01-03 to tomorrow (${unit})`
}

const gridFault = (openTime: number, { timeframe }: Series): string | undefined =>
  openTime % timeframeMs(timeframe) === 0
    ? undefined
    : `open time ${openTime} is not on the ${timeframe} grid`
