import { createHash } from 'node:crypto'
import type { Series } from '../../contracts/series.ts'
import { timeframeMs } from '../../contracts/timeframes.ts'
import type { UsedSeries } from '../../services/engine/provenance.ts'
import type { SeriesHistory } from './series-history.ts'

/**
 * SHA-256, in hex, over the content of a series: each bar as six little-endian doubles (open time, open, high,
 * low, close, volume), then each funding settlement as three (time, rate, interval in hours).
 */
export function historyChecksum({ bars, funding }: Pick<SeriesHistory, 'bars' | 'funding'>): string {
  const hash = createHash('sha256')
  const take = (values: readonly number[]): void => {
    const bytes = Buffer.alloc(values.length * Float64Array.BYTES_PER_ELEMENT)
    for (const [index, value] of values.entries())
      bytes.writeDoubleLE(value, index * Float64Array.BYTES_PER_ELEMENT)
    hash.update(bytes)
  }
  for (const { openTime, open, high, low, close, volume } of bars)
    take([openTime, open, high, low, close, volume])
  for (const { time, rate, intervalHours } of funding) take([time, rate, intervalHours])
  return hash.digest('hex')
}

/** What a model file says of a series; undefined where there are no bars. */
export function describeHistory(history: SeriesHistory): UsedSeries | undefined {
  const { series, bars, funding } = history
  const [first] = bars
  const last = bars.at(-1)
  if (first === undefined || last === undefined) return undefined
  const { exchange, coin, timeframe }: Series = series
  return {
    exchange,
    coin,
    timeframe,
    from: first.openTime,
    to: last.openTime + timeframeMs(timeframe),
    bars: bars.length,
    fundingRates: funding.length,
    sha256: historyChecksum(history),
  }
}
