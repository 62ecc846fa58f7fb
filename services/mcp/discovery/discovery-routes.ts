import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { atAddress, DOCUMENTED_ADDRESS } from '../../../contracts/documented-address.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import type { Product } from '../../../contracts/prices.ts'
import { TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
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
  /** What the MCP registry reads to see that the domain is the publisher's; not served where it is left out. */
  readonly registryProof: string | undefined
}

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'

/**
 * What agents and indexers find the service by. All of it is made from the catalogue of tools, the offers of the paid
 * routes, the settings and the pages, and none of it says what a caller is not answered.
 *
 * @example curl http://127.0.0.1:8402/.well-known/x402.json
 */
export const discoveryRoutes: FastifyPluginAsync<DiscoveryOptions> = async (app, options) => {
  const { version, publicUrl, paid, pages, hasMcp, registryProof } = options
  const described = (): Described => ({
    version,
    url: (publicUrl() || DOCUMENTED_ADDRESS).replace(/\/+$/, ''),
  })
  const json = (body: JsonObject): string => JSON.stringify(body)
  if (paid !== undefined) {
    serve(app, '/.well-known/x402.json', JSON_TYPE, () =>
      json(x402Manifest(offersOf(paid), { since: options.since, url: described().url })),
    )
  }
  if (hasMcp) {
    serve(app, '/server.json', JSON_TYPE, () => json(serverJson(described())))
    serve(app, '/.well-known/ai-catalog.json', 'application/ai-catalog+json', () =>
      json(aiCatalog(described())),
    )
    for (const path of ['/mcp/server-card', '/.well-known/mcp/server-card.json'])
      serve(app, path, SERVER_CARD_TYPE, () => json(serverCard(described())))
  }
  if (registryProof !== undefined)
    serve(app, '/.well-known/mcp-registry-auth', TEXT_TYPE, () => `${registryProof}\n`)
  if (pages !== undefined) {
    serve(app, '/llms.txt', TEXT_TYPE, async () => llmsText(await pages(), described()))
    serve(app, '/llms-full.txt', TEXT_TYPE, async () =>
      atAddress(llmsFullText(await pages(), described()), publicUrl()),
    )
  }
}

function serve(app: FastifyInstance, path: string, type: string, make: () => string | Promise<string>): void {
  app.get(path, async (request, reply) => sendPublic(request, reply, type, await make()))
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
  if (outcome.kind !== 'offer') throw new ServiceError('internal_error')
  return JSON.parse(Buffer.from(outcome.offer.header, 'base64').toString()) as SentOffer
}
