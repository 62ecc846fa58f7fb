import type { Exchange, Market, Series } from '../../../contracts/domain/series.ts'
import type { Timeframe } from '../../../contracts/domain/timeframes.ts'
import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { toolArguments } from '../../../contracts/tools/tool-arguments.ts'
import {
  TOOLS,
  type ToolName,
  type ToolRequest,
  type ToolResponse,
} from '../../../contracts/tools/tool-catalogue.ts'
import type { ScanFundingArbRequest, ScanFundingArbResponse } from '../../../contracts/tools/tool-schemas.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { Board } from '../board.ts'
import type { VerdictModel } from '../model/verdict-model.ts'
import { isSettled } from './board-reading.ts'
import { createSeriesFinder, type Listing, type Monitored } from './find-series.ts'
import { type Follow, OnDemandSeries } from './on-demand-series.ts'
import { createSeriesReader } from './read-series.ts'
import { scanCalls } from './scan-calls.ts'
import type { UniverseManager } from './universe-manager.ts'
import { marketRegimeAnswer, tradeCallAnswer } from './verdict-answers.ts'

/**
 * A request as its tool takes it: checked, names in upper case, defaults filled in. Parsing what was parsed
 * changes nothing.
 *
 * @throws ServiceError `invalid_request` naming every field at fault in `details.fields`.
 */
export const parseToolRequest = <Name extends ToolName>(tool: Name, request: unknown): ToolRequest<Name> =>
  toolArguments(tool, TOOLS[tool].request, request) as ToolRequest<Name>

/** Answers every tool call of every channel. */
export interface ToolHandler {
  /**
   * The answer of a tool, without the metadata that the channel adds.
   *
   * @param request what the caller sent, unchecked
   * @param asker the payer, for whom series that are not monitored are followed; payers share the limit
   * @throws ServiceError `invalid_request`, `unknown_exchange`, `unknown_coin`, `unknown_timeframe`,
   *   `insufficient_history`, `stale_market_data`, `series_loading`, `overloaded`,
   *   `venue_unavailable`, `engine_unavailable`, `shutting_down`
   */
  answer<Name extends ToolName>(tool: Name, request: unknown, asker?: string): Promise<ToolResponse<Name>>
}

/** A tool handler in the process that computes. */
export interface LocalToolHandler extends ToolHandler {
  /** Ends what is followed on demand of some series, before a run takes them over. */
  release(series: readonly Series[]): Promise<void>
  /** Series that callers wait for, the one that was asked for first before the others. */
  awaited(): Iterable<Series>
  /** Series that are followed because somebody asked for them. */
  seriesOnDemand(): number
  /** Resolves when nothing is followed on demand any more, which the signal brings about. */
  ended(): Promise<void>
}

export interface ToolHandlerOptions extends Pick<Clock, 'now' | 'sleep'> {
  /** The current state of every followed series. */
  readonly board: Board
  readonly monitored: Monitored
  /** Tells at which timeframes calls are made. */
  readonly model: Pick<VerdictModel, 'timeframes'>
  /** Why calls at a timeframe are withdrawn for now; undefined where they are not. */
  readonly withdrawn?: (timeframe: Timeframe) => string | undefined
  /** All markets, monitored or not. */
  readonly listings: () => Promise<readonly Listing[]>
  /** The default exchange, and others in order; the first of `monitored` without it. */
  readonly exchanges?: readonly Exchange[]
  readonly universes: Pick<UniverseManager, 'of' | 'newest'>
  /**
   * Follows a series that is not monitored, until the signal. Absent where the market has no present to load
   * one into: a recorded market at full speed. Then only what is monitored can be asked for, and it is
   * as late as the board is complete: the feed is ahead of what is recorded.
   */
  readonly follow?: Follow | undefined
  /** Answers `scan_funding_arb` as of an instant of market time. */
  readonly scanFunding: (request: ScanFundingArbRequest, now: number) => ScanFundingArbResponse
  /** The newest settled funding rate of a market as a yearly fraction; null where none of late is known. */
  readonly fundingOf: (market: Market) => number | null
  /** Market time, Unix milliseconds. */
  readonly clock: () => number
  /** Beyond its bar's length, how late a series' newest bar may be; milliseconds of market time. */
  readonly staleAfterMs?: number
  /** Address under which callers reach the service; the port may be known only once it listens. */
  readonly publicUrl: () => string
  /** Ends everything that is followed on demand. */
  readonly signal: AbortSignal
  /** Told when following a series on demand failed. */
  readonly onFailure: (series: Series, error: ServiceError) => void
}

type Answers = {
  readonly [Name in ToolName]: (
    request: ToolRequest<Name>,
    asker: string | undefined,
  ) => Promise<ToolResponse<Name>>
}

/**
 * The tools, answered from the board: a verdict is the recorded one of the newest closed bar, and nothing is
 * computed here.
 */
export function createToolHandler(options: ToolHandlerOptions): LocalToolHandler {
  const { board, monitored, universes, fundingOf, follow, now, signal, withdrawn = () => undefined } = options
  const clock = follow === undefined ? () => board.watermark() : options.clock
  const freshness = { clock, staleAfterMs: options.staleAfterMs ?? LIMITS.staleAfterMs }
  const publicUrl = (): string => options.publicUrl().replace(/\/+$/, '')
  const finder = createSeriesFinder({
    monitored,
    listings: follow === undefined ? undefined : options.listings,
    exchanges: options.exchanges ?? [],
    newestUniverse: (exchange) => universes.newest(exchange),
    now,
  })
  const onDemand = new OnDemandSeries({
    board,
    follow: follow ?? (() => Promise.resolve()),
    isSettled: (entry) => isSettled(entry, freshness),
    now,
    sleep: options.sleep,
    signal,
    onFailure: options.onFailure,
  })
  const canFollow = follow !== undefined
  const reader = createSeriesReader({ board, finder, onDemand, freshness, monitored, canFollow })
  const deadline = (): number => now() + LIMITS.onDemandWaitMs

  const answers: Answers = {
    get_trade_call: async (request, asker) =>
      tradeCallAnswer(await reader.read(request, deadline(), asker), request.include_factors, publicUrl()),
    get_market_regime: async (request, asker) =>
      marketRegimeAnswer(await reader.read(request, deadline(), asker), publicUrl()),
    scan_trade_calls: (request, asker) =>
      scanCalls(
        { finder, reader, universes, fundingOf, clock, publicUrl, withdrawn, model: options.model },
        request,
        deadline(),
        asker,
      ),
    scan_funding_arb: async (request) => options.scanFunding(request, Math.floor(clock())),
  }

  return {
    answer: async (tool, request, asker) => answers[tool](parseToolRequest(tool, request), asker),
    release: (series) => onDemand.release(series),
    awaited: onDemand.awaited,
    seriesOnDemand: () => onDemand.count(),
    ended: () => onDemand.ended(),
  }
}
