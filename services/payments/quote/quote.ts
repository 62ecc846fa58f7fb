import type { PaymentChain } from '../../../contracts/domain/chain.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { Offered, Quote } from '../payments.ts'
import { MIME_TYPE, requirementsV1, requirementsV2 } from './payment-requirements.ts'

export interface QuoteTerms {
  readonly on: PaymentChain
  /** Whom payments are for; undefined where none are taken. */
  readonly payTo: string | undefined
  /** Whether the payment gateway is offered as a second rail. */
  readonly offersGateway: boolean
}

const JSON_SCHEMA = 'https://json-schema.org/draft/2020-12/schema'
/** The description of this service in catalogues. */
const SERVICE = { serviceName: 'Signal service', tags: ['trading', 'crypto', 'signals', 'market-data'] }

/** The error if nothing can be offered; an offer without a recipient would be worse. */
export const NOT_CONFIGURED = 'payments_not_configured: no recipient is set (X402_PAY_TO); use an API key'

/**
 * The offer of a product in both versions of x402: clients of version 2 read the header, those of version 1 the body.
 * The chain precedes the gateway, because clients take the first rail that they can pay. Without `payTo`: no offers.
 *
 * @param error code of x402 or of the error registry
 * @example const { body, header } = makeQuote({ payTo, offersGateway: true }, offered, 'payment_required')
 */
export function makeQuote({ on, payTo, offersGateway }: QuoteTerms, offered: Offered, error: string): Quote {
  assert(offered.price > 0n, 'an offer costs more than nothing', offered.price)
  const said = payTo === undefined ? NOT_CONFIGURED : error
  const { url, description } = offered
  const rails =
    offersGateway && on.gateway !== undefined ? (['direct', 'gateway'] as const) : (['direct'] as const)
  const priced = payTo === undefined ? undefined : { ...offered, payTo }
  const accepts = priced === undefined ? [] : rails.map((rail) => requirementsV2(on, rail, priced))
  const required = {
    x402Version: 2,
    error: said,
    resource: { url, description, mimeType: MIME_TYPE, ...SERVICE },
    accepts,
    ...(accepts.length > 0 && {
      extensions: { bazaar: discoveryOf(offered.example) },
    }),
  }
  return {
    // Version 1 knows chains by name: for one that has none, the offers of version 2 stand in the body, too.
    body:
      on.networkV1 === undefined
        ? required
        : {
            x402Version: 1,
            error: said,
            accepts: priced === undefined ? [] : [requirementsV1(on, on.networkV1, priced)],
          },
    header: Buffer.from(JSON.stringify(required)).toString('base64'),
  }
}

/**
 * The example of a request and its answer for indexers, with a schema. Clients send it back inside a header, so the
 * schema is minimal; the full one is in OpenAPI.
 */
function discoveryOf({ request, answer }: Offered['example']): JsonObject {
  const object = { type: 'object' }
  const input = {
    type: 'object',
    properties: {
      type: { const: 'http' },
      method: { const: 'POST' },
      bodyType: { const: 'json' },
      body: object,
    },
    required: ['type', 'method', 'bodyType', 'body'],
  }
  const output = { type: 'object', properties: { type: { const: 'json' }, example: object } }
  return {
    info: {
      input: { type: 'http', method: 'POST', bodyType: 'json', body: request },
      output: { type: 'json', example: answer },
    },
    schema: { $schema: JSON_SCHEMA, ...object, properties: { input, output }, required: ['input'] },
  }
}
