import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { assert } from '../../../contracts/assert.ts'
import { DOCUMENTED_ADDRESS } from '../../../contracts/documented-address.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Product } from '../../../contracts/prices.ts'
import { TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { anyObject, type Operation, operationsOf, revalidated } from '../../http/openapi/operation.ts'
import { sendPublic } from '../../http/send-public.ts'
import type { Knowledge } from '../../knowledge/index.ts'
import type { PaidCalls, PaidOutcome } from '../../tool-calls/index.ts'
import { type Described, llmsText, type SentOffer, serverJson, x402Manifest } from './discovery-documents.ts'

export interface DiscoveryOptions {
  readonly version: string
  /** The address under which callers reach the service; empty while it is not known. */
  readonly publicUrl: () => string
  /** Since when this process makes its offers, Unix milliseconds. */
  readonly since: number
  readonly paid: PaidCalls | undefined
  readonly pages: Knowledge['pages'] | undefined
  readonly hasMcp: boolean
}

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'

const describe = operationsOf({ tag: 'service' })

/**
 * The documents by which agents and indexers find the service. They are made from the catalogue of tools, the offers
 * of the paid routes, the settings and the pages, and promise nothing that a caller does not get.
 */
export const discoveryRoutes: FastifyPluginAsync<DiscoveryOptions> = async (app, options) => {
  const { version, publicUrl, paid, pages, hasMcp } = options
  const described = (): Described => ({
    version,
    url: (publicUrl() || DOCUMENTED_ADDRESS).replace(/\/+$/, ''),
  })
  const json = (body: JsonObject): string => JSON.stringify(body)
  const jsonDocument = revalidated('The document', 'application/json', anyObject)
  const text = revalidated('The document', 'text/plain')
  if (paid !== undefined) {
    const operation = describe('paidResources', 'What can be paid for here, for agents and indexers', {
      ...jsonDocument,
      errors: ['payments_unavailable'],
    })
    serve(app, '/.well-known/x402.json', JSON_TYPE, operation, () =>
      json(x402Manifest(offersOf(paid), { since: options.since, url: described().url })),
    )
  }
  if (hasMcp) {
    const entry = describe('registryEntry', 'This server as the MCP registry lists it', jsonDocument)
    serve(app, '/server.json', JSON_TYPE, entry, () => json(serverJson(described())))
  }
  if (pages !== undefined) {
    const short = describe('llms', 'The service in one page of Markdown, for language models', text)
    serve(app, '/llms.txt', TEXT_TYPE, short, async () => llmsText(await pages(), described()))
  }
}

function serve(
  app: FastifyInstance,
  path: string,
  type: string,
  operation: Operation,
  make: () => string | Promise<string>,
): void {
  app.get(path, { schema: { operation } }, async (request, reply) =>
    sendPublic(request, reply, type, await make()),
  )
}

/** The offers as they are sent to who brings no payment, decoded. */
function offersOf({ tools, plans }: PaidCalls): ReadonlyMap<Product, SentOffer> {
  const ofTools = (Object.keys(TOOLS) as ToolName[]).map((tool) => [tool, tools.offer(tool)] as const)
  const ofPlans = (['starter', 'pro'] as const).map((tier) => [`plans/${tier}`, plans.offer(tier)] as const)
  return new Map<Product, SentOffer>(
    [...ofTools, ...ofPlans].map(([name, outcome]) => [name, decoded(outcome)]),
  )
}

function decoded(outcome: PaidOutcome): SentOffer {
  assert(outcome.kind === 'offer', 'a request without a payment is answered with an offer')
  return JSON.parse(Buffer.from(outcome.offer.header, 'base64').toString()) as SentOffer
}
