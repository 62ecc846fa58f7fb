import {
  type Exchange,
  rankUniverse,
  type Series,
  seriesName,
  type Universe,
} from '../../../contracts/domain/series.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { createFakeClock, type FakeClock } from '../../../testing/time/fake-clock.fixture.ts'
import { type Board, createBoard } from '../board.ts'
import type { MarketMetrics } from '../engine.ts'
import { loadModel } from '../model/verdict-model.ts'
import type { Listing, Monitored } from './find-series.ts'
import { createToolHandler, type LocalToolHandler, type ToolHandlerOptions } from './tool-handler.ts'

/** Market time of the tool handlers in tests: 20 s after a full hour, at which bars of every timeframe closed. */
export const MARKET_NOW = Date.UTC(2025, 0, 2) + 20_000
export const BAR_CLOSE = Date.UTC(2025, 0, 2)

export const METRICS: MarketMetrics = {
  rsi14: 48.5,
  adx14: 21.25,
  plusDi14: 18,
  minusDi14: 20,
  atrPercent: 0.8,
  emaGapAtr: -0.12,
  realisedVolatility: 0.004,
  direction: 'UP',
  liveliness: 1.4,
  percentileBars: 586,
  barrier: 0.012,
}

export const sim = (coin: string, timeframe: Timeframe = '1h'): Series => ({
  exchange: 'SIM',
  coin,
  timeframe,
})

export const LISTINGS: readonly Listing[] = [
  ...['BTC', 'ETH', 'SOL', '1000PEPE', 'SUSD'].map(
    (coin): Listing => ({ exchange: 'SIM', coin, timeframes: TIMEFRAMES }),
  ),
  { exchange: 'OKX', coin: 'BTC', timeframes: ['1h', '4h'] },
]

export const universeOf = (exchange: Exchange, coins: readonly string[]): Universe =>
  rankUniverse(
    exchange,
    BAR_CLOSE,
    coins.map((coin, index) => ({
      coin,
      quoteVolume24h: 1_000_000 / (index + 1),
      change24h: 0.01 * index,
    })),
  )

/** Puts a verdict of a series on a board. */
export function putVerdict(board: Board, series: Series, change: Partial<Verdict> = {}): Verdict {
  const verdict = aVerdict({ ...series, barClose: BAR_CLOSE, ...change })
  const recorded = { verdict, metrics: METRICS }
  board.put({ series, isLive: true, bars: 600, barClose: verdict.barClose, recorded })
  return verdict
}

/** Puts a series without a verdict on a board. */
export const putBars = (
  board: Board,
  series: Series,
  bars: number,
  barClose = BAR_CLOSE,
  isLive = true,
): void => board.put({ series, isLive, bars, barClose, recorded: undefined })

export interface ToolHandlerFixture {
  readonly toolHandler: LocalToolHandler
  readonly board: Board
  readonly time: FakeClock
  /** Series that were begun to be followed, in order. */
  readonly begun: string[]
  readonly failures: [string, ServiceError][]
  readonly ending: AbortController
}

/**
 * A tool handler over a board that the test fills. Monitored are BTC 1h and 4h and ETH 1h, each with a fresh verdict;
 * what is followed on demand gets a verdict at once, unless the test follows otherwise.
 */
export function setUpToolHandler(change: Partial<ToolHandlerOptions> = {}): ToolHandlerFixture {
  const board = createBoard()
  const time = createFakeClock(1_000_000)
  const ending = new AbortController()
  const begun: string[] = []
  const failures: [string, ServiceError][] = []
  const monitored = [sim('BTC'), sim('BTC', '4h'), sim('ETH')]
  for (const series of monitored) putVerdict(board, series)
  board.raiseWatermark(BAR_CLOSE)
  const follow: NonNullable<ToolHandlerOptions['follow']> = async (series, signal) => {
    begun.push(seriesName(series))
    putVerdict(board, series)
    await untilAborted(signal)
    board.remove(series)
  }
  const toolHandler = createToolHandler({
    board,
    model: loadModel(),
    monitored: monitoredOf(monitored),
    listings: async () => LISTINGS,
    universes: {
      of: async (exchange) => universeOf(exchange, ['BTC', 'ETH', 'SOL']),
      newest: (exchange) => universeOf(exchange, ['BTC', 'ETH', 'SOL']),
    },
    fundingOf: () => null,
    follow,
    scanFunding: (request, now) => ({
      completed_at: new Date(now).toISOString(),
      holding_hours: request.holding_hours,
      fees_bps: 4 * request.taker_fee_bps,
      opportunities: [],
      pairs_compared: 0,
      pairs_too_short: 0,
      pairs_unconfirmed: 0,
      markets_stale: 0,
      venues: ['SIM'],
      note: 'There is one venue.',
    }),
    clock: () => MARKET_NOW,
    publicUrl: () => 'https://signals.example',
    now: time.now,
    sleep: time.sleep,
    signal: ending.signal,
    onFailure: (series, error) => failures.push([seriesName(series), error]),
    ...change,
  })
  return { toolHandler, board, time, begun, failures, ending }
}

export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

export const monitoredOf = (series: readonly Series[]): Monitored => {
  const names = new Set(series.map(seriesName))
  return {
    exchanges: [...new Set(series.map(({ exchange }) => exchange))],
    series: () => series,
    has: (one) => names.has(seriesName(one)),
    mayHave: () => false,
  }
}

/** The error that a promise was rejected with. */
export async function refusalOf(answer: Promise<unknown>): Promise<ServiceError> {
  try {
    await answer
  } catch (error) {
    return error as ServiceError
  }
  throw new Error('it was not refused')
}
