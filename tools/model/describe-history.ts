import { createHash } from 'node:crypto'
import type { Series } from '../../contracts/series.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import type { UsedSeries } from '../../services/engine/provenance.ts'
import type { SeriesHistory } from './series-history.ts'

const ROWS_AT_A_TIME = 4_096

/**
 * SHA-256, in hex, over the content of a series: each bar as six little-endian doubles (open time, open, high,
 * low, close, volume), then each funding settlement as three (time, rate, interval in hours).
 */
export function historyChecksum({ bars, funding }: Pick<SeriesHistory, 'bars' | 'funding'>): string {
  const hash = createHash('sha256')
  const take = (rows: readonly (readonly number[])[]): void => {
    const values = rows.flat()
    const bytes = Buffer.alloc(values.length * Float64Array.BYTES_PER_ELEMENT)
    for (const [index, value] of values.entries())
      bytes.writeDoubleLE(value, index * Float64Array.BYTES_PER_ELEMENT)
    hash.update(bytes)
  }
  for (let start = 0; start < bars.length; start += ROWS_AT_A_TIME) {
    const some = bars.slice(start, start + ROWS_AT_A_TIME)
    take(
      some.map(({ openTime, open, high, low, close, volume }) => [openTime, open, high, low, close, volume]),
    )
  }
  take(funding.map(({ time, rate, intervalHours }) => [time, rate, intervalHours]))
  return hash.digest('hex')
}

/** Bars that a model file names as fitted on; undefined where it names none. */
export function describeHistory(history: SeriesHistory): UsedSeries | undefined {
  const { series, isSpot, bars, funding } = history
  const [first] = bars
  const last = bars.at(-1)
  if (first === undefined || last === undefined) return undefined
  const { exchange, coin, timeframe }: Series = series
  return {
    exchange,
    coin,
    timeframe,
    market: isSpot ? 'spot' : 'perpetual',
    from: first.openTime,
    to: last.openTime + timeframeMs(timeframe),
    bars: bars.length,
    fundingRates: funding.length,
    sha256: historyChecksum(history),
  }
}
