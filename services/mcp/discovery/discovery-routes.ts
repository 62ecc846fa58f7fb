import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { assert } from '../../../contracts/assert.ts'
import { atAddress, DOCUMENTED_ADDRESS } from '../../../contracts/documented-address.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Product } from '../../../contracts/prices.ts'
import { TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { anyObject, type Operation, operationsOf, revalidated } from '../../http/openapi/operation.ts'
import { sendPublic } from '../../http/send-public.ts'
import type { Knowledge } from '../../knowledge/index.ts'
import type { PaidCalls, PaidOutcome } from '../../tool-calls/index.ts'
import {
  aiCatalog,
  type Described,
  llmsFullText,
  llmsText,
  SERVER_CARD_TYPE,
  type SentOffer,
  serverCard,
  serverJson,
  x402Manifest,
} from './discovery-documents.ts'

export interface DiscoveryOptions {
  readonly version: string
  /** The address under which callers reach the service; empty while it is not known. */
  readonly publicUrl: () => string
  /** Since when this process makes its offers, Unix milliseconds. */
  readonly since: number
  readonly paid: PaidCalls | undefined
  readonly pages: Knowledge['pages'] | undefined
  readonly hasMcp: boolean
  /** The proof for the MCP registry that the domain is the publisher's; not served where it is left out. */
  readonly registryProof: string | undefined
}

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const AI_CATALOG_TYPE = 'application/ai-catalog+json'

const describe = operationsOf({ tag: 'service' })

/**
 * The documents by which agents and indexers find the service. They are made from the catalogue of tools, the offers
 * of the paid routes, the settings and the pages, and promise nothing that a caller does not get.
 */
export const discoveryRoutes: FastifyPluginAsync<DiscoveryOptions> = async (app, options) => {
  const { version, publicUrl, paid, pages, hasMcp, registryProof } = options
  const described = (): Described => ({
    version,
    url: (publicUrl() || DOCUMENTED_ADDRESS).replace(/\/+$/, ''),
  })
  const json = (body: JsonObject): string => JSON.stringify(body)
  const jsonDocument = revalidated('The document', 'application/json', anyObject)
  const card = revalidated('The document', SERVER_CARD_TYPE, anyObject)
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
    const catalog = describe(
      'aiCatalog',
      'Where the card of the MCP server is',
      revalidated('The document', AI_CATALOG_TYPE, anyObject),
    )
    serve(app, '/.well-known/ai-catalog.json', AI_CATALOG_TYPE, catalog, () => json(aiCatalog(described())))
    const sendCard = () => json(serverCard(described()))
    const own = describe('serverCard', 'The card of the MCP server', card)
    serve(app, '/mcp/server-card', SERVER_CARD_TYPE, own, sendCard)
    const wellKnown = describe('wellKnownServerCard', 'The same card, where some look for it', card)
    serve(app, '/.well-known/mcp/server-card.json', SERVER_CARD_TYPE, wellKnown, sendCard)
  }
  if (registryProof !== undefined) {
    const proof = describe('registryProof', 'Whose keys may list this domain in the MCP registry', text)
    serve(app, '/.well-known/mcp-registry-auth', TEXT_TYPE, proof, () => `${registryProof}\n`)
  }
  if (pages !== undefined) {
    const short = describe('llms', 'The service in one page of Markdown, for language models', text)
    serve(app, '/llms.txt', TEXT_TYPE, short, async () => llmsText(await pages(), described()))
    const full = describe('llmsFull', 'The documentation in one file of Markdown', text)
    serve(app, '/llms-full.txt', TEXT_TYPE, full, async () =>
      atAddress(llmsFullText(await pages(), described()), publicUrl()),
    )
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
