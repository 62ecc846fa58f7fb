import { type Candle, candleFault } from '../../../contracts/candle.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'

/**
 * Leaves out the rows of an answer that cannot be bars: venues have shown prices of zero and highs below their
 * close. One such row must not end a series, whose next page would begin with it again and again.
 *
 * @param onFault told what is wrong, and with how many rows
 * @throws ServiceError `market_data_damaged` when half of the rows or more are such: then it is the answer that
 *   is not understood.
 */
export function soundBars(
  rows: readonly Candle[],
  series: Series,
  onFault: (fault: string, rows: number) => void,
): readonly Candle[] {
  const faults: string[] = []
  const bars = rows.filter((row) => {
    const fault = candleFault(row) ?? gridFault(row.openTime, series)
    if (fault !== undefined) faults.push(fault)
    return fault === undefined
  })
  const [first] = faults
  if (first === undefined) return bars
  const fault = `${faults.length} of ${rows.length} rows are no bars, such as: ${first}`
  onFault(fault, faults.length)
  if (faults.length * 2 < rows.length) return bars
  const message = `${seriesName(series)}: ${fault}`
  throw new ServiceError('market_data_damaged', { message, details: { series: seriesName(series) } })
}

const gridFault = (openTime: number, { timeframe }: Series): string | undefined =>
  openTime % timeframeMs(timeframe) === 0
    ? undefined
    : `open time ${openTime} is not on the ${timeframe} grid`
