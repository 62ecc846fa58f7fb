import { isIP } from 'node:net'
import type { FastifyPluginAsync } from 'fastify'
import { formatUsdc } from '../../contracts/domain/chain.ts'
import { PLAN_LIMITS } from '../../contracts/domain/plans.ts'
import { assert } from '../../contracts/errors/assert.ts'
import { DOCUMENTED_ADDRESS } from '../../contracts/infra/documented-address.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { PRICES } from '../../contracts/tools/prices.ts'
import { isToolName } from '../../contracts/tools/tool-catalogue.ts'
import { operation, serveDocument } from '../http/openapi.ts'
import { PAID_TIERS } from '../http/routes/x402.ts'
import { type DocPage, type Knowledge, pagesByReader } from '../knowledge/index.ts'
import type { PaidCalls, PaidOutcome } from '../tool-calls/index.ts'
import { decodedOf } from './call-tool.ts'
import { SERVER_NAME, SERVER_TITLE } from './protocol.ts'
import { ALL_TOOL_NAMES, listedTools, TOOL_GROUPS } from './tools.ts'

interface Described {
  readonly version: string
  /** The address under which callers reach the service, without a slash at the end. */
  readonly url: string
}

/** At most 100 characters: indexes take no more. */
const DESCRIPTION =
  'Calibrated trade calls, market regimes and scans of coins, recorded before they are answered.'

/**
 * The manifest of what can be paid for at this origin, projected from the very offers that a request without payment
 * is answered with; those stay what counts. Tools are listed twice: they are paid for over HTTP and inside MCP.
 *
 * @param since when this process began to make these offers, Unix milliseconds
 */
function x402Manifest({ tools, plans }: PaidCalls, url: string, since: number): JsonObject {
  const posted = { method: 'POST', bodyType: 'json' }
  const toolItems = listedTools().flatMap(({ name: toolName, inputSchema }) => {
    const { resource, accepts } = sentOfferOf(tools.offer(toolName))
    const input = { toolName, inputSchema, transport: 'streamable-http' }
    return [
      { resource, type: 'http', accepts, input: { ...posted, body: inputSchema } },
      { resource: { ...resource, url: `${url}/mcp` }, type: 'mcp', accepts, input },
    ]
  })
  const planItems = PAID_TIERS.map((tier) => {
    const { resource, accepts } = sentOfferOf(plans.offer(tier))
    return { resource, type: 'http', accepts, input: posted }
  })
  const items = [...toolItems, ...planItems].filter(({ accepts }) => accepts.length > 0)
  return { x402Version: 2, lastUpdated: Math.floor(since / 1_000), items }
}

/** The offer of version 2 of x402, as a caller without a payment gets it in the header `PAYMENT-REQUIRED`. */
function sentOfferOf(outcome: PaidOutcome): { resource: JsonObject; accepts: readonly JsonObject[] } {
  assert(outcome.kind === 'offer', 'a request without a payment is answered with an offer')
  return decodedOf(outcome.offer.header) as ReturnType<typeof sentOfferOf>
}

/** The host of an address in reverse: the owner of the domain may use the name. @example reverseName('https://a.example') === 'example.a/signal-service' */
function reverseName(url: string): string {
  const { hostname } = new URL(url)
  const labels = isIP(hostname) > 0 || hostname.startsWith('[') ? ['local'] : hostname.split('.')
  return `${labels.toReversed().join('.')}/${SERVER_NAME}`
}

/** `server.json` of the MCP registry, whose publisher tool takes it as it is. */
export const serverJson = ({ url, version }: Described): JsonObject => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
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
        `- \`${name}\`${isToolName(name) ? ` (from ${formatUsdc(PRICES[name])} USD)` : ''}: ${description}`,
    ),
    '',
  ])
  const readers = pagesByReader(pages).map(({ reader, pages: read }) => [
    `## ${reader}\n`,
    ...read.map(link),
    '',
  ])
  return `# ${SERVER_TITLE}

> ${DESCRIPTION} Information, not advice.

- MCP: \`POST ${url}/mcp\`. No key is needed for the free allowance of an address (${PLAN_LIMITS.free.callsPerDay} calls a day at most).
- HTTP, paid for call by call in USDC on Base (x402, versions 1 and 2): \`POST ${url}/x402/<tool>\`. The first answer is 402 with the offer; the same authorization has the same answer for ever.
- Every refusal says its \`code\`, what happened, and a \`next_step\`. What is refused costs nothing.

## Tools

${tools.join('\n')}
## For machines

- [OpenAPI 3.1](${url}/openapi.json): every operation with its fields
- [What can be paid for](${url}/.well-known/x402.json): prices, recipients and schemas (x402)
- [server.json](${url}/server.json): for the MCP registry

${readers.flat().join('\n')}`
}

export interface DiscoveryOptions {
  readonly version: string
  /** The address under which callers reach the service; empty while it is not known. */
  readonly publicUrl: () => string
  /** When this process began to make its offers, Unix milliseconds. */
  readonly since?: number
  readonly payments?: { readonly paid: PaidCalls } | undefined
  readonly knowledge?: { readonly knowledge: Pick<Knowledge, 'pages'> } | undefined
  readonly mcp?: object | undefined
}

/**
 * The documents by which agents and indexers find the service. They are made from the catalogue of tools, the offers
 * of the paid routes, the settings and the pages, and promise nothing that a caller does not get.
 */
export const discoveryRoutes: FastifyPluginAsync<DiscoveryOptions> = async (app, options) => {
  const { version, publicUrl, payments, knowledge, mcp, since = 0 } = options
  const described = (): Described => ({
    version,
    url: (publicUrl() || DOCUMENTED_ADDRESS).replace(/\/+$/, ''),
  })
  const serve = (path: string, id: string, summary: string, make: () => string | Promise<string>): void =>
    serveDocument(app, path, operation('service', id, summary), make)
  if (payments !== undefined)
    serve('/.well-known/x402.json', 'paidResources', 'The paid products, for agents and indexers', () =>
      JSON.stringify(x402Manifest(payments.paid, described().url, since)),
    )
  if (mcp !== undefined)
    serve('/server.json', 'registryEntry', 'This server as the MCP registry lists it', () =>
      JSON.stringify(serverJson(described())),
    )
  if (knowledge !== undefined)
    serve('/llms.txt', 'llms', 'The service in one page of Markdown, for language models', async () =>
      llmsText(await knowledge.knowledge.pages(), described()),
    )
}
