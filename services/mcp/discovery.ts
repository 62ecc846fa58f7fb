import { isIP } from 'node:net'
import type { FastifyPluginAsync } from 'fastify'
import { z } from 'zod'
import { formatUsdc } from '../../contracts/domain/chain.ts'
import { PLAN_LIMITS } from '../../contracts/domain/plans.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { DOCUMENTED_ADDRESS } from '../../contracts/infra/documented-address.ts'
import type { Json, JsonObject } from '../../contracts/infra/json.ts'
import { PRICES, type Product } from '../../contracts/tools/prices.ts'
import { isToolName, TOOLS, type ToolName } from '../../contracts/tools/tool-catalogue.ts'
import { anyObject, bodyOf, operation } from '../http/openapi.ts'
import { sendPublic } from '../http/send-public.ts'
import { type DocPage, type Knowledge, pagesByReader } from '../knowledge/index.ts'
import type { PaidCalls, PaidOutcome } from '../tool-calls/index.ts'
import { SERVER_NAME, SERVER_TITLE } from './protocol.ts'
import { ALL_TOOL_NAMES, listedTools, TOOL_GROUPS } from './tools.ts'

/** An offer of version 2 of x402, as the header `PAYMENT-REQUIRED` carries it. */
interface SentOffer {
  readonly resource: JsonObject & { readonly url: string }
  readonly accepts: readonly JsonObject[]
  readonly extensions?: {
    readonly bazaar?: { readonly info?: { readonly output?: { readonly example?: Json } } }
  }
}

export interface Described {
  readonly version: string
  /** The address under which callers reach the service, without a slash at the end. */
  readonly url: string
}

/** At most 100 characters: indexes take no more. */
export const DESCRIPTION =
  'Calibrated trade calls, market regimes and scans of coins, recorded before they are answered.'

const SERVER_JSON_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'

/** Made once: writing them takes milliseconds. */
const schemas = new Map(listedTools().map(({ name, inputSchema }) => [name, inputSchema]))

/**
 * The manifest of what can be paid for at this origin, projected from the very offers that a request without payment
 * is answered with; those stay what counts. Tools are listed twice: they are paid for over HTTP and inside MCP.
 *
 * @param since when this process began to make these offers, Unix milliseconds
 */
function x402Manifest({ tools, plans }: PaidCalls, url: string, since: number): JsonObject {
  const outcomes = [
    ...(Object.keys(TOOLS) as ToolName[]).map((tool) => [tool, tools.offer(tool)] as const),
    ...(['starter', 'pro'] as const).map((tier) => [`plans/${tier}`, plans.offer(tier)] as const),
  ]
  const payable = outcomes
    .map(([product, outcome]) => ({ ...sentOfferOf(outcome), schema: schemas.get(product), product }))
    .filter(({ accepts }) => accepts.length > 0)
  const overHttp = payable.map(({ resource, accepts, extensions, schema }) => {
    const routeTemplate = new URL(resource.url).pathname
    const input = { method: 'POST', routeTemplate, bodyType: 'json', ...(schema && { body: schema }) }
    const example = extensions?.bazaar?.info?.output?.example ?? null
    return { resource, type: 'http', accepts, input, output: { mimeType: 'application/json', example } }
  })
  const overMcp = payable.flatMap(({ resource, accepts, schema: inputSchema, product: toolName }) => {
    if (inputSchema === undefined) return []
    const input = { toolName, inputSchema, transport: 'streamable-http' }
    return [{ resource: { ...resource, url: `${url}/mcp` }, type: 'mcp', accepts, input }]
  })
  return { x402Version: 2, lastUpdated: Math.floor(since / 1_000), items: [...overHttp, ...overMcp] }
}

/** The offer as it is sent to a caller without a payment. */
function sentOfferOf(outcome: PaidOutcome): SentOffer {
  assert(outcome.kind === 'offer', 'a request without a payment is answered with an offer')
  return JSON.parse(Buffer.from(outcome.offer.header, 'base64').toString()) as SentOffer
}

/** The host of an address in reverse: the owner of the domain may use the name. @example reverseName('https://a.example') === 'example.a/signal-service' */
export function reverseName(url: string): string {
  const { hostname } = new URL(url)
  const host = hostname.replaceAll(/[[\]:]/g, '')
  const labels = isIP(host) > 0 || hostname.startsWith('[') ? ['local'] : host.split('.')
  return `${labels.toReversed().join('.')}/${SERVER_NAME}`
}

/** `server.json` of the MCP registry, whose publisher tool takes it as it is. */
export const serverJson = ({ url, version }: Described): JsonObject => ({
  $schema: SERVER_JSON_SCHEMA,
  name: reverseName(url),
  title: SERVER_TITLE,
  description: DESCRIPTION,
  version,
  websiteUrl: `${url}/docs`,
  remotes: [
    {
      type: 'streamable-http',
      url: `${url}/mcp`,
      headers: [
        {
          name: 'Authorization',
          description:
            'Bearer and an API key (sk_live_…) or an access token; left out, the free allowance applies',
          isRequired: false,
          isSecret: true,
        },
      ],
    },
  ],
  _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { tools: [...ALL_TOOL_NAMES] } },
})

/** The head of the file, for a reader of this file alone. */
const BEGIN = (url: string): string => `# ${SERVER_TITLE}

> ${DESCRIPTION} Information, not advice.

- MCP: \`POST ${url}/mcp\`. No key is needed for the free allowance of an address (${PLAN_LIMITS.free.callsPerDay} calls a day at most).
- HTTP, paid for call by call in USDC on Base (x402, versions 1 and 2): \`POST ${url}/x402/<tool>\`. The first answer is 402 with the offer; the same authorization has the same answer for ever.
- Every refusal says its \`code\`, what happened, and a \`next_step\`. What is refused costs nothing.`

const usd = (product: Product): string => `${formatUsdc(PRICES[product])} USD`

/**
 * `/llms.txt` (https://llmstxt.org): the service in one page of Markdown, with links to the rest.
 *
 * @param pages of the documentation
 */
export function llmsText(pages: readonly DocPage[], { url }: Described): string {
  const link = ({ name, title, blocks }: DocPage): string => {
    const first = blocks.find((block) => block.kind === 'paragraph')
    const about = first?.kind === 'paragraph' ? (first.text.split(/(?<=\.)\s/)[0] ?? '') : ''
    return `- [${title}](${url}/docs/${name}.md): ${about.replaceAll(/\]\((\w[\w-]*\.md)/g, `](${url}/docs/$1`)}`
  }
  const tools = TOOL_GROUPS.flatMap(({ use, tools: ofGroup }) => [
    `### ${use}\n`,
    ...Object.entries(ofGroup).map(
      ([name, { description }]) =>
        `- \`${name}\`${isToolName(name) ? ` (from ${usd(name)})` : ''}: ${description}`,
    ),
    '',
  ])
  const machine = [
    `- [OpenAPI 3.1](${url}/openapi.json): every operation with its fields`,
    `- [What can be paid for](${url}/.well-known/x402.json): prices, recipients and schemas (x402)`,
    `- [server.json](${url}/server.json): for the MCP registry`,
  ]
  return [
    BEGIN(url),
    section('Tools', tools),
    section('For machines', machine),
    ...pagesByReader(pages).map(({ reader, pages: read }) => section(reader, read.map(link))),
  ].join('\n\n')
}

const section = (title: string, lines: readonly string[]): string => `## ${title}\n\n${lines.join('\n')}\n`

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
      JSON.stringify(x402Manifest(paid, described().url, options.since)),
    )
  if (hasMcp)
    serve('/server.json', 'registryEntry', 'This server as the MCP registry lists it', () =>
      JSON.stringify(serverJson(described())),
    )
  if (pages !== undefined)
    serve('/llms.txt', 'llms', 'The service in one page of Markdown, for language models', async () =>
      llmsText(await pages(), described()),
    )
}
