import {
  type Exchange,
  isExchange,
  type Series,
  seriesName,
  type Universe,
} from '../../../contracts/domain/series.ts'
import { isTimeframe, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { ToolName, ToolRequest } from '../../../contracts/tools/tool-catalogue.ts'
import type { ScanTradeCallsResponse } from '../../../contracts/tools/tool-schemas.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { VerdictModel } from '../model/verdict-model.ts'
import type { RankedCall } from './rank-calls.ts'
import { type CallScannerOptions, scanCalls } from './scan-calls.ts'
import { marketRegimeAnswer, tradeCallAnswer } from './verdict-answers.ts'

/** The newest verdict of each series, as the log has them. */
export interface NewestVerdicts {
  /** @throws ServiceError of the store; then it is not known */
  verdict(series: Series): Verdict | undefined
  /** The newest ranking of an exchange in the log; undefined where there is none. */
  universe(exchange: Exchange): Promise<Universe | undefined>
  /** Market time, Unix milliseconds. */
  clock(): number
  readonly model: Pick<VerdictModel, 'timeframes'>
  /** Why calls at a timeframe are withdrawn for now; undefined where they are not. */
  withdrawn(timeframe: Timeframe): string | undefined
}

type AskedSeries = Pick<ToolRequest<'get_trade_call'>, 'exchange' | 'coin' | 'timeframe'>

/** Often enough that a series which is followed on demand goes on being followed. */
const ASK_EVERY_MS = LIMITS.onDemandKeepMs / 4
/** Series of which it is known when they were asked for last. */
const SERIES_KEPT = 5_000

export interface NewestAnswersOptions {
  /** The newest verdicts that this process has from the log; undefined where it has none. */
  readonly newest: NewestVerdicts | undefined
  /** Exchange of a call that names none; learned from answers when it is not known. */
  readonly defaultExchange?: Exchange | undefined
  readonly publicUrl: () => string
  /** A clock that is never set, milliseconds. */
  readonly elapsed: () => number
}

/**
 * Answers of tools that follow from a recorded verdict alone.
 *
 * Between the close of a bar and the next close a series has one verdict: a process that read it from the log gives the
 * same answer as a process that computes.
 */
export function createNewestAnswers(options: NewestAnswersOptions) {
  const { newest, publicUrl, elapsed } = options
  /** Exchange of a call that names none, as the processes that compute choose it. */
  let { defaultExchange } = options
  const askedAt = new RecentMap<string, number>(SERIES_KEPT)

  function verdictOf({ exchange = defaultExchange, coin, timeframe }: AskedSeries) {
    if (newest === undefined || exchange === undefined) return undefined
    if (!isExchange(exchange) || !isTimeframe(timeframe)) return undefined
    try {
      return newest.verdict({ exchange, coin, timeframe })
    } catch {
      return undefined
    }
  }

  /** The newest verdict that is asked for, as long as there can be no newer one. */
  function readingOf(asked: AskedSeries) {
    const verdict = verdictOf(asked)
    if (verdict === undefined || newest === undefined) return undefined
    const dataAgeMs = Math.max(0, Math.floor(newest.clock() - verdict.barClose))
    return dataAgeMs >= timeframeMs(verdict.timeframe) ? undefined : { verdict, dataAgeMs }
  }
  const url = (): string => publicUrl().replace(/\/+$/, '')

  function isToBeAskedFor(series: Series): boolean {
    const name = seriesName(series)
    const at = elapsed()
    if (at - (askedAt.get(name) ?? Number.NEGATIVE_INFINITY) < ASK_EVERY_MS) return false
    askedAt.set(name, at)
    return true
  }

  return {
    /** Undefined where a newer bar may have closed, nothing is known of the series, or the tool needs more. */
    answer<Name extends ToolName>(tool: Name, request: ToolRequest<Name>) {
      if (tool !== 'get_trade_call') return undefined
      const asked = request as ToolRequest<'get_trade_call'>
      const reading = readingOf(asked)
      if (reading === undefined) return undefined
      return {
        answer: tradeCallAnswer(reading, asked.include_factors, url()),
        isToBeAskedFor: isToBeAskedFor(reading.verdict),
      }
    },
    /**
     * Answers while no process computes, with less than an engine would, as the answer says. A scan has the coins whose
     * newest verdict is here, and names the others. Undefined when a newer bar may have closed, nothing is known of the
     * series, or the tool needs more than verdicts.
     *
     * @throws ServiceError `invalid_request` for what no engine would answer either
     */
    async withoutEngine<Name extends ToolName>(tool: Name, request: ToolRequest<Name>) {
      if (tool === 'scan_trade_calls') {
        const asked = request as ToolRequest<'scan_trade_calls'>
        const exchange = asked.exchange ?? defaultExchange
        return newest && scanNewest(newest, { ...asked, exchange }, readingOf, url)
      }
      if (tool !== 'get_market_regime') return undefined
      const reading = readingOf(request as ToolRequest<'get_market_regime'>)
      return reading && marketRegimeAnswer(reading, url())
    },
    /** Takes note of which exchange those who compute take where none is named. */
    learn(request: object, answer: object) {
      if ('exchange' in request && request.exchange !== undefined) return
      const { exchange } = answer as { readonly exchange?: unknown }
      if (typeof exchange === 'string' && isExchange(exchange)) defaultExchange = exchange
    },
  }
}

/** A scan of the newest verdicts alone; undefined where they say nothing. */
async function scanNewest(
  newest: NewestVerdicts,
  request: ToolRequest<'scan_trade_calls'>,
  readingOf: (asked: AskedSeries) => Pick<RankedCall, 'verdict'> | undefined,
  publicUrl: () => string,
): Promise<ScanTradeCallsResponse | undefined> {
  const { exchange, timeframe } = request
  if (exchange === undefined || !isExchange(exchange) || !isTimeframe(timeframe)) return undefined
  // Without the log there is nothing to answer from.
  const universe = await newest.universe(exchange).catch(() => undefined)
  if (universe === undefined) return undefined
  const parts: CallScannerOptions = {
    finder: { exchange: async () => exchange, timeframe: async () => timeframe },
    reader: {
      async read(series) {
        const reading = readingOf(series)
        if (reading !== undefined) return reading
        throw new ServiceError('engine_unavailable', {
          message: 'Its newest bar may have closed since, and no process that computes verdicts is running.',
        })
      },
    },
    // A process that computes knows these.
    universes: { of: async () => universe },
    fundingOf: () => null,
    clock: () => newest.clock(),
    publicUrl,
    model: newest.model,
    withdrawn: (asked) => newest.withdrawn(asked),
  }
  const answer = await scanCalls(parts, request, 0)
  return answer.scanned === 0 ? undefined : answer
}
