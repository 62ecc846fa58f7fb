import { isServiceError } from '../../contracts/errors.ts'
import type { Json, JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { PLAN_LIMITS } from '../../contracts/plans.ts'
import { TIMEFRAMES } from '../../contracts/timeframes.ts'
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
  /** The state of a payment, for the holder of its id; undefined if nothing is sold. @throws ServiceError `payment_unknown` */
  readonly payment?: ((id: string) => Promise<JsonObject>) | undefined
}

export const NOTICE = 'Information, not advice.'

const JSON_TYPE = 'application/json'

interface Resource {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly read: () => Json | Promise<Json>
}

/** A template of RFC 6570, and the addresses that it makes. */
const PAYMENT_TEMPLATE = {
  uriTemplate: 'signal://payments/{id}',
  name: 'payment',
  title: 'A payment',
  description:
    'Where a payment stands, by `_service.payment.id` of its answer: whether it is settled, and what was sent back of it.',
  mimeType: JSON_TYPE,
}
const PAYMENT_URI = /^signal:\/\/payments\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

export type McpResources = ReturnType<typeof mcpResources>

/** Resources beside the tools; reading them costs nothing. @param tools names of those that are listed */
export function mcpResources({ payment, ...sources }: McpResourceSources, tools: readonly string[]) {
  const resources: readonly Resource[] = [
    {
      name: 'service',
      title: 'This service',
      description: 'What is served here: market, exchanges, timeframes, tools, tiers and limits.',
      read: () => serviceDescription(sources, tools),
    },
    {
      name: 'track-record',
      title: 'Track record',
      description:
        'What became of all recorded verdicts, per model version and timeframe, beside what the constants and a coin would have done. The past of this market, not a promise.',
      read: () => sources.trackRecord(),
    },
  ]
  const byUri = new Map(resources.map((resource) => [`signal://${resource.name}`, resource]))
  return {
    listed: Array.from(byUri, ([uri, { name, title, description }]) => ({
      uri,
      name,
      title,
      description,
      mimeType: JSON_TYPE,
    })),
    templates: payment === undefined ? [] : [PAYMENT_TEMPLATE],
    /** @throws RpcFault */
    async read(uri: string, caller: Caller): Promise<JsonObject> {
      const [, id] = (payment && PAYMENT_URI.exec(uri)) ?? []
      const read = payment && id !== undefined ? () => payment(id) : byUri.get(uri)?.read
      if (read === undefined) {
        const data = { uri: uri.slice(0, 256).toWellFormed() }
        throw new RpcFault('invalidParams', `Resource not found: ${data.uri}`, { data })
      }
      try {
        const contents = [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(await read()) }]
        // A payment is its payer's affair, and changes.
        return { contents, ...(id !== undefined && { ttlMs: 0, cacheScope: 'private' }) }
      } catch (error) {
        throw unreadable(error, uri, caller)
      }
    },
  }
}

function unreadable(error: unknown, uri: string, { log, sender: { requestId } }: Caller): RpcFault {
  if (isServiceError(error) && error.code !== 'internal_error') {
    const { message, ...data } = errorBody(error, requestId)
    return new RpcFault('internalError', message, { data })
  }
  log.error({ err: error, request_id: requestId, uri }, 'resource could not be read')
  return new RpcFault('internalError', 'Internal error', { data: { request_id: requestId } })
}

function serviceDescription(sources: McpResourceSources, tools: readonly string[]): JsonObject {
  const tiers = Object.entries(PLAN_LIMITS).map(([tier, { callsPerWindow, callsPerDay }]) => ({
    tier,
    calls_per_window: callsPerWindow,
    window: tier === 'free' ? 'calendar month, UTC' : '30 days from the day the plan began',
    calls_per_day: callsPerDay,
  }))
  return {
    service: 'signal-service',
    version: sources.version,
    market: sources.market,
    url: sources.publicUrl() ?? null,
    exchanges: [...sources.exchanges()],
    timeframes: [...TIMEFRAMES],
    tools,
    tiers,
    limits: { request_bytes: LIMITS.requestBodyBytes, nesting: LIMITS.jsonDepth },
    confidence:
      '100 × the calibrated probability that the barrier of the called side comes before the other; it lies between 50 and 60. It says nothing of where the price ends, which is what `expected_range` is about.',
    notice: NOTICE,
  }
}
