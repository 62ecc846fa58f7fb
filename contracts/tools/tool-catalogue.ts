import type { z } from 'zod'
import { CALLING_TIMEFRAMES, TIMEFRAMES } from '../domain/timeframes.ts'
import { ServiceError } from '../errors/errors.ts'
import { didYouMean, nearestName } from '../infra/input-faults.ts'
import { LIMITS } from '../limits.ts'
import {
  getMarketRegimeRequest,
  getMarketRegimeResponse,
  getTradeCallRequest,
  getTradeCallResponse,
  scanFundingArbRequest,
  scanFundingArbResponse,
  scanTradeCallsRequest,
  scanTradeCallsResponse,
} from './tool-schemas.ts'

/** The description of a tool, the same on every channel. */
export interface ToolDefinition {
  readonly title: string
  readonly description: string
  readonly request: z.ZodType
  /** The answer, without the metadata that the channel adds. */
  readonly response: z.ZodType
}

const define = <const Tools extends Record<string, ToolDefinition>>(tools: Tools): Tools => tools

const silent = TIMEFRAMES.filter((timeframe) => !CALLING_TIMEFRAMES.includes(timeframe))

/** Known before anybody pays. */
export const WHERE_CALLS_ARE_MADE = `Calls are made at ${CALLING_TIMEFRAMES.join(', ')}; at ${silent.join(', ')} the answer is always HOLD, because no skill was shown there.`

/** The tools, in the order in which they are listed. */
export const TOOLS = define({
  get_trade_call: {
    title: 'Trade call',
    description: `Trading signal for one coin: whether to buy (go long), sell (go short) or HOLD now, at its newest closed bar. With calibrated confidence, the expected price range, the factors that speak for it, and a link to verify it. ${WHERE_CALLS_ARE_MADE} Information, not advice.`,
    request: getTradeCallRequest,
    response: getTradeCallResponse,
  },
  get_market_regime: {
    title: 'Market regime',
    description:
      'Current market conditions of one coin: trending (uptrend or downtrend), ranging (sideways) or volatile, since when and how strongly, with the measurements behind it. A description of what has been, not a forecast of direction. Information, not advice.',
    request: getMarketRegimeRequest,
    response: getMarketRegimeResponse,
  },
  scan_trade_calls: {
    title: 'Scan of trade calls',
    description: `Screens the most traded coins of an exchange for trading signals: which coins to buy or sell today, the strongest and best opportunities first, or top gainers and losers. ${WHERE_CALLS_ARE_MADE} Information, not advice.`,
    request: scanTradeCallsRequest,
    response: scanTradeCallsResponse,
  },
  scan_funding_arb: {
    title: 'Funding arbitrage',
    description:
      'Delta-neutral carry trades: compares the funding rates of perpetual futures across exchanges, and ranks pairs by the carry to be earned over a holding time after four taker fees, shrunk by how persistent the difference has been. It compares exchanges, so with one that is monitored it finds nothing. Information, not advice.',
    request: scanFundingArbRequest,
    response: scanFundingArbResponse,
  },
})

export type ToolName = keyof typeof TOOLS
export type ToolRequest<Name extends ToolName> = z.output<(typeof TOOLS)[Name]['request']>
export type ToolResponse<Name extends ToolName> = z.infer<(typeof TOOLS)[Name]['response']>

/** Names by which others in the field offer a tool. They are accepted on every channel; answers and events have ours. */
export const TOOL_ALIASES = { get_trade_signal: 'get_trade_call' } as const satisfies Record<string, ToolName>

/** The name of ours for one that somebody gave, which stays as it is where it is no alias. */
export const canonicalTool = (name: string): string =>
  Object.hasOwn(TOOL_ALIASES, name) ? TOOL_ALIASES[name as keyof typeof TOOL_ALIASES] : name

/** The tool of a name that somebody gave. @throws ServiceError `unknown_tool`, listing those there are. */
export function toolNamed(name: string): ToolName {
  const tool = canonicalTool(name)
  if (isToolName(tool)) return tool
  throw unknownTool(name, Object.keys(TOOLS))
}

/** @param available names of the tools that the caller can choose from */
export function unknownTool(name: string, available: readonly string[]): ServiceError {
  const given = name.slice(0, LIMITS.nameCharacters).toWellFormed()
  const meant = nearestName(given, available)
  return new ServiceError('unknown_tool', {
    message: `there is no tool ${JSON.stringify(given)}; there are ${available.join(', ')}${didYouMean(meant)}`,
    details: { given, available: [...available], ...(meant !== undefined && { did_you_mean: meant }) },
  })
}

export const isToolName = (name: string): name is ToolName => Object.hasOwn(TOOLS, name)
