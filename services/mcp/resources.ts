import { PLAN_LIMITS } from '../../contracts/domain/plans.ts'
import { TIMEFRAMES } from '../../contracts/domain/timeframes.ts'
import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import type { Json, JsonObject } from '../../contracts/infra/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { errorBody } from '../http/errors.ts'
import type { Caller } from './call-tool.ts'
import { RpcFault } from './jsonrpc.ts'

/** Dependencies of the resources. */
export interface McpResourceSources {
  readonly version: string
  /** simulated, recorded or live. */
  readonly market: string
  /** Codes of the exchanges that are monitored. */
  readonly exchanges: () => readonly string[]
  /** Address of the service and its documentation; undefined until it is known. */
  readonly publicUrl: () => string | undefined
  /** The track record, as `GET /api/track-record` answers it, per timeframe. */
  readonly trackRecord: () => JsonObject | Promise<JsonObject>
}

export const NOTICE = 'Information, not advice.'

const mimeType = 'application/json'
export const LISTED_RESOURCES = [
  {
    uri: 'signal://service',
    name: 'service',
    title: 'This service',
    description: 'What is served here: market, exchanges, timeframes, tools, tiers and limits.',
    mimeType,
  },
  {
    uri: 'signal://track-record',
    name: 'track-record',
    title: 'Track record',
    description:
      'What became of all recorded verdicts, per model version and timeframe, beside what the constants and a coin would have done. The past of this market, not a promise.',
    mimeType,
  },
]

/** Reads a resource, which costs nothing. @throws RpcFault */
export async function readResource(
  sources: McpResourceSources,
  tools: readonly string[],
  uri: string,
  { log, requestId }: Caller,
): Promise<JsonObject> {
  const readable = new Map<string, () => Json | Promise<Json>>([
    ['signal://service', () => describeService(sources, tools)],
    ['signal://track-record', sources.trackRecord],
  ])
  const read = readable.get(uri)
  if (read === undefined) {
    const data = { uri: uri.slice(0, 256).toWellFormed() }
    throw new RpcFault('invalidParams', `Resource not found: ${data.uri}`, { data })
  }
  try {
    return { contents: [{ uri, mimeType, text: JSON.stringify(await read()) }] }
  } catch (error) {
    const isKnown = isServiceError(error) && error.code !== 'internal_error'
    if (!isKnown) log.error({ err: error, request_id: requestId, uri }, 'resource could not be read')
    const { message, ...data } = errorBody(isKnown ? error : new ServiceError('internal_error'), requestId)
    throw new RpcFault('internalError', message, { data })
  }
}

const describeService = (
  { version, market, publicUrl, exchanges }: McpResourceSources,
  tools: readonly string[],
): JsonObject => ({
  service: 'signal-service',
  version,
  market,
  url: publicUrl() ?? null,
  exchanges: [...exchanges()],
  timeframes: [...TIMEFRAMES],
  tools,
  tiers: Object.entries(PLAN_LIMITS).map(([tier, { callsPerWindow, callsPerDay }]) => ({
    tier,
    calls_per_window: callsPerWindow,
    window: tier === 'free' ? 'calendar month, UTC' : '30 days from the day the plan began',
    calls_per_day: callsPerDay,
  })),
  limits: { request_bytes: LIMITS.requestBodyBytes, nesting: LIMITS.jsonDepth },
  confidence:
    '100 × the calibrated probability that the barrier of the called side comes before the other; it lies between 50 and 60. It says nothing of where the price ends, which is what `expected_range` is about.',
  notice: NOTICE,
})
