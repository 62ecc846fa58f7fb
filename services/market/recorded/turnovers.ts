import { ServiceError } from '../../../contracts/errors.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { rankUniverse, type Universe, type UniverseEntry } from '../../../contracts/universe.ts'
import { ROW_NUMBERS } from '../bar-maker.ts'
import { planSource } from '../plan-source.ts'
import type { Catalogue, RecordedMarket, SummarisedRecording } from './open-catalogue.ts'
import { readCandleRows } from './read-recording.ts'
import { createTurnover, type Turnover } from './turnover.ts'

/** The files of an exchange are read when it is first ranked, and their hourly sums kept. */
export function createTurnovers() {
  const byFile = new Map<SummarisedRecording, Promise<Turnover>>()

  function turnoverOf(recording: SummarisedRecording): Promise<Turnover> {
    const known = byFile.get(recording)
    if (known !== undefined) return known
    const reading = readTurnover(recording).catch((error: unknown) => {
      byFile.delete(recording)
      throw error
    })
    byFile.set(recording, reading)
    return reading
  }

  return {
    /**
     * The coins of an exchange by what their bars of the 24 hours before an instant traded.
     *
     * @throws ServiceError `unknown_exchange`, `market_data_damaged`, `market_data_missing`
     */
    async rank(catalogue: Catalogue, exchange: Exchange, at: number): Promise<Universe> {
      const markets = [...catalogue.markets.values()].filter(({ candles }) => candles.length > 0)
      const here = markets.filter(({ listing }) => listing.exchange === exchange)
      if (here.length === 0) throw unknownExchangeError(exchange, markets)
      const entries: UniverseEntry[] = []
      for (const { listing, candles } of here) {
        const source = planSource('1h', listing.native) ?? planSource('1d', listing.native)
        const recording = candles.find(({ content }) => content === source?.timeframe)
        if (recording === undefined) continue
        const turnover = await turnoverOf(recording)
        entries.push({ coin: listing.coin, openInterest: null, ...turnover.at(at) })
      }
      return rankUniverse(exchange, at, entries)
    },
  }
}

async function readTurnover(recording: SummarisedRecording): Promise<Turnover> {
  const timeframe = recording.content as Timeframe
  const lengthMs = timeframeMs(timeframe)
  const turnover = createTurnover()
  for await (const { rows, count } of readCandleRows(recording, timeframe)) {
    for (let at = 0; at < count * ROW_NUMBERS; at += ROW_NUMBERS) {
      const barClose = (rows[at] as number) + lengthMs
      turnover.add(barClose, rows[at + 4] as number, rows[at + 5] as number)
    }
  }
  return turnover
}

function unknownExchangeError(exchange: Exchange, markets: readonly RecordedMarket[]): ServiceError {
  const available = [...new Set(markets.map(({ listing }) => listing.exchange))]
  return new ServiceError('unknown_exchange', {
    message: `there are no recorded bars of ${exchange}; recorded are ${available.join(', ')}`,
    details: { given: exchange, available },
  })
}
