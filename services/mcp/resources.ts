import type { JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { PLAN_LIMITS } from '../../contracts/plans.ts'
import { TIMEFRAMES } from '../../contracts/timeframes.ts'

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

/** Something to read, at an address of its own. */
export interface McpResource {
  readonly listed: JsonObject & { readonly uri: string }
  readonly read: () => JsonObject | Promise<JsonObject>
}

export const NOTICE = 'Information, not advice.'

/** As a template of RFC 6570. */
export const PAYMENT_TEMPLATE = {
  uriTemplate: 'signal://payments/{id}',
  name: 'payment',
  title: 'A payment',
  description:
    'Where a payment stands, by `_service.payment.id` of its answer: whether it is settled, and what was sent back of it.',
  mimeType: 'application/json',
} as const

const PAYMENT_URI = /^signal:\/\/payments\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** The id in an address of {@link PAYMENT_TEMPLATE}; undefined for another address. */
export const paymentIdIn = (uri: string): string | undefined => PAYMENT_URI.exec(uri)?.[1]

/** Resources beside the tools; reading them costs nothing. @param tools names of those that are listed */
export const mcpResources = (
  sources: McpResourceSources,
  tools: readonly string[],
): readonly McpResource[] => [
  resource(
    'service',
    'This service',
    'What is served here: market, exchanges, timeframes, tools, tiers and limits.',
    () => serviceDescription(sources, tools),
  ),
  resource(
    'track-record',
    'Track record',
    'What became of all recorded verdicts, per model version and timeframe, beside what the constants and a coin would have done. The past of this market, not a promise.',
    () => sources.trackRecord(),
  ),
]

const resource = (
  name: string,
  title: string,
  description: string,
  read: McpResource['read'],
): McpResource => ({
  listed: { uri: `signal://${name}`, name, title, description, mimeType: 'application/json' },
  read,
})

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
