import {
  type Exchange,
  rankUniverse,
  type Universe,
  type UniverseEntry,
} from '../../../contracts/domain/series.ts'
import { DAY_MS, HOUR_MS, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { partitionPoint } from '../../../contracts/infra/partition-point.ts'
import { ROW_NUMBERS } from '../bar-maker.ts'
import { planSource } from '../plan-source.ts'
import type { Catalogue, SummarisedRecording } from './open-catalogue.ts'
import { readCandleRows } from './read-recording.ts'

type Turnover = ReturnType<typeof createTurnover>

/**
 * Sums by the hour, so that years of 1m bars take 24 bytes an hour and any instant is answered by two searches.
 */
export function createTurnover() {
  /** Ends of the hours in which a bar closed, rising. */
  const hours: number[] = []
  /** Close of the last bar of each of them, and what was traded up to its end, in the quote currency. */
  const [closes, totals]: [number[], number[]] = [[], []]

  /** Index of the last hour that ended by an instant; -1 before the first. */
  const lastBy = (instant: number): number =>
    partitionPoint(hours.length, (place) => (hours[place] as number) <= instant) - 1

  return {
    /** Takes the next bar, in order of time: its close time, its close, and its volume in coins. */
    add(barClose: number, close: number, volume: number): void {
      const hour = Math.ceil(barClose / HOUR_MS) * HOUR_MS
      const place = hours.at(-1) === hour ? hours.length - 1 : hours.length
      const total = (totals.at(-1) ?? 0) + close * volume
      hours[place] = hour
      closes[place] = close
      totals[place] = total
    },

    /**
     * Volume and price change of the 24 hours before an instant, of whole hours and of bars that had closed.
     * Without a bar in that time nothing was traded and no change is known.
     */
    at(instant: number): Pick<UniverseEntry, 'quoteVolume24h' | 'change24h'> {
      const [end, begin] = [lastBy(instant), lastBy(instant - DAY_MS)]
      if (end === begin) return { quoteVolume24h: 0, change24h: null }
      const quoteVolume24h = (totals[end] as number) - (totals[begin] ?? 0)
      // A price of longer ago than another day says nothing about this one.
      const isKnown = begin >= 0 && (hours[begin] as number) > instant - 2 * DAY_MS
      const change24h = isKnown ? (closes[end] as number) / (closes[begin] as number) - 1 : null
      return { quoteVolume24h, change24h }
    },
  }
}

/** The files of an exchange are read when it is first ranked, and their hourly sums kept. */
export function createTurnovers() {
  const byFile = new Map<SummarisedRecording, Turnover>()
  return {
    /**
     * The coins of an exchange by what their bars of the 24 hours before an instant traded.
     *
     * @throws ServiceError `unknown_exchange`, `market_data_damaged`, `market_data_missing`
     */
    async rank(catalogue: Catalogue, exchange: Exchange, at: number): Promise<Universe> {
      const markets = [...catalogue.markets.values()].filter(({ candles }) => candles.length > 0)
      const available = [...new Set(markets.map(({ listing }) => listing.exchange))]
      if (!available.includes(exchange)) {
        throw new ServiceError('unknown_exchange', {
          message: `there are no recorded bars of ${exchange}; recorded are ${available.join(', ')}`,
          details: { given: exchange, available },
        })
      }
      const entries: UniverseEntry[] = []
      for (const { listing, candles } of markets.filter(({ listing: of }) => of.exchange === exchange)) {
        const source = planSource('1h', listing.native) ?? planSource('1d', listing.native)
        const recording = candles.find(({ content }) => content === source?.timeframe)
        if (recording === undefined) continue
        const turnover = byFile.get(recording) ?? (await readTurnover(recording))
        byFile.set(recording, turnover)
        entries.push({ coin: listing.coin, ...turnover.at(at) })
      }
      return rankUniverse(exchange, at, entries)
    },
  }
}

async function readTurnover(recording: SummarisedRecording): Promise<Turnover> {
  const timeframe = recording.content as Timeframe
  const turnover = createTurnover()
  for await (const { rows, count } of readCandleRows(recording, timeframe)) {
    for (let at = 0; at < count * ROW_NUMBERS; at += ROW_NUMBERS)
      turnover.add(
        (rows[at] as number) + timeframeMs(timeframe),
        rows[at + 4] as number,
        rows[at + 5] as number,
      )
  }
  return turnover
}
