import { isoTime } from '../../../contracts/domain/iso-time.ts'
import type { Universe } from '../../../contracts/domain/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { ScanTradeCallsRequest, ScanTradeCallsResponse } from '../../../contracts/tools/tool-schemas.ts'
import type { VerdictModel } from '../model/verdict-model.ts'
import type { SeriesFinder } from './find-series.ts'
import { type RankedCall, type Ranking, rankCalls, scannedCoins } from './rank-calls.ts'
import type { SeriesReader } from './read-series.ts'
import { type FundingOf, lensNote, openLens } from './scan-lens.ts'
import type { UniverseManager } from './universe-manager.ts'

/**
 * Why no call is made at a timeframe, and where there are some; null for one at which calls are made.
 *
 * @param withdrawn why calls at a timeframe are withdrawn for now; undefined where they are not
 */
export function silenceNote(
  { timeframes }: Pick<VerdictModel, 'timeframes'>,
  timeframe: Timeframe,
  withdrawn: (timeframe: Timeframe) => string | undefined = () => undefined,
): string | null {
  const { [timeframe]: asked } = timeframes
  const reason = asked.calls ? withdrawn(timeframe) : asked.reason
  if (reason === undefined) return null
  const spoken = TIMEFRAMES.filter((one) => timeframes[one].calls && withdrawn(one) === undefined)
  const elsewhere =
    spoken.length === 0 ? 'None is made at any other either.' : `Calls are made at ${spoken.join(', ')}.`
  return `No call is made at ${timeframe}: ${reason}. ${elsewhere}`
}

export interface CallScannerOptions {
  readonly finder: Pick<SeriesFinder, 'exchange' | 'timeframe'>
  readonly reader: {
    read(...asked: Parameters<SeriesReader['read']>): Promise<Pick<RankedCall, 'verdict' | 'metrics'>>
  }
  readonly universes: Pick<UniverseManager, 'of'>
  readonly fundingOf: FundingOf
  /** Market time, Unix milliseconds. */
  readonly clock: () => number
  readonly publicUrl: () => string
  readonly model: Pick<VerdictModel, 'timeframes'>
  /** Why calls at a timeframe are withdrawn for now; undefined where they are not. */
  readonly withdrawn: (timeframe: Timeframe) => string | undefined
}

/**
 * Answers `scan_trade_calls`. Coins that are not followed are asked for all at once and share one wait; those
 * without a fresh verdict by then are named under `errors`, nobody is dropped.
 *
 * @param deadline wall clock, Unix milliseconds
 * @param asker because of whom coins are followed that are not monitored
 * @throws ServiceError `unknown_exchange`, `unknown_timeframe`, `invalid_request`, `venue_unavailable`
 */
export async function scanCalls(
  options: CallScannerOptions,
  request: ScanTradeCallsRequest,
  deadline: number,
  asker?: string,
): Promise<ScanTradeCallsResponse> {
  const { finder, reader, universes, fundingOf, publicUrl } = options
  const ranking = rankingOf(request.rank_by)
  const exchange = await finder.exchange(request.exchange)
  const timeframe = await finder.timeframe(exchange, request.timeframe)
  const universe = await universes.of(exchange)
  const lens = request.lens && openLens(request.lens, universe, fundingOf)
  const entries = scannedCoins(universe, request, lens)

  const found: RankedCall[] = []
  const errors: ScanTradeCallsResponse['errors'] = []
  await Promise.all(
    entries.map(async (entry) => {
      const { coin } = entry
      try {
        const { verdict, metrics } = await reader.read({ exchange, coin, timeframe }, deadline, asker)
        found.push({ entry, verdict, metrics })
      } catch (error) {
        if (!isServiceError(error)) throw error
        errors.push({ coin, code: error.code, message: error.message })
      }
    }),
  )
  return {
    exchange,
    timeframe,
    completed_at: isoTime(Math.floor(options.clock())),
    universe_ranked_at: isoTime(universe.rankedAt),
    calls: rankCalls(found, request, lens ?? ranking, publicUrl()),
    scanned: found.length,
    holds: found.filter(({ verdict }) => verdict.call === 'HOLD').length,
    errors: errors.toSorted((a, b) => (a.coin < b.coin ? -1 : 1)),
    lens_note: lensNote(lens, found),
    note:
      entries.length === 0 ? floorNote(universe) : silenceNote(options.model, timeframe, options.withdrawn),
  }
}

function rankingOf(asked: ScanTradeCallsRequest['rank_by']): Ranking {
  if (asked !== 'expected_return') return asked
  const problem =
    'no model of this release tells which return is to be expected; rank by strength, or by expected_range'
  throw new ServiceError('invalid_request', {
    message: `rank_by: ${problem}`,
    details: { fields: [{ field: 'rank_by', problem }] },
  })
}

/** Why a floor leaves no coin, where that is why there is none. */
const floorNote = ({ exchange, coins: [largest] }: Universe): string =>
  largest === undefined
    ? `${exchange} lists no coin.`
    : `No coin is above min_liquidity_usd: the largest, ${largest.coin}, traded ${Math.floor(largest.quoteVolume24h)} in 24 hours.`
