import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { assert } from '../../../contracts/assert.ts'
import { DOCUMENTED_ADDRESS } from '../../../contracts/documented-address.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Product } from '../../../contracts/prices.ts'
import { TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { anyObject, bodyOf, operation } from '../../http/openapi.ts'
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
  const serve = (path: string, id: string, summary: string, make: () => string | Promise<string>): void => {
    const type = path.endsWith('.txt') ? 'text/plain' : 'application/json'
    const body = type === 'text/plain' ? z.string() : anyObject
    const schema = { ...operation('service', id, summary), response: bodyOf({ [type]: body }) }
    app.get(path, { schema }, async (request, reply) =>
      sendPublic(request, reply, `${type}; charset=utf-8`, await make()),
    )
  }
  if (paid !== undefined)
    serve('/.well-known/x402.json', 'paidResources', 'The paid products, for agents and indexers', () =>
      json(x402Manifest(offersOf(paid), { since: options.since, url: described().url })),
    )
  if (hasMcp)
    serve('/server.json', 'registryEntry', 'This server as the MCP registry lists it', () =>
      json(serverJson(described())),
    )
  if (pages !== undefined)
    serve('/llms.txt', 'llms', 'The service in one page of Markdown, for language models', async () =>
      llmsText(await pages(), described()),
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
