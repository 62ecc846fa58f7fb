import { isIP } from 'node:net'
import { formatUsdc } from '../../../contracts/chain.ts'
import type { Json, JsonObject } from '../../../contracts/json.ts'
import { PLAN_LIMITS } from '../../../contracts/plans.ts'
import { PRICES, type Product } from '../../../contracts/prices.ts'
import { isToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { type DocPage, pagesByReader } from '../../knowledge/index.ts'
import { LEGACY_VERSIONS, MODERN_VERSION, SERVER_NAME, SERVER_TITLE } from '../mcp-messages.ts'
import { ALL_TOOL_NAMES, TOOL_GROUPS } from '../tool-groups.ts'
import { listedTools } from '../tool-list.ts'

/** An offer of version 2 of x402, as the header `PAYMENT-REQUIRED` carries it. */
export interface SentOffer {
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
const SERVER_CARD_SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json'
export const SERVER_CARD_TYPE = 'application/mcp-server-card+json'

/**
 * The manifest of what can be paid for at this origin, projected from the very offers that a request without payment
 * is answered with; those stay what counts. Tools are listed twice: they are paid for over HTTP and inside MCP.
 *
 * @param since when this process began to make these offers, Unix milliseconds
 */
export function x402Manifest(
  offers: ReadonlyMap<Product, SentOffer>,
  { url, since }: { readonly url: string; readonly since: number },
): JsonObject {
  const payable = [...offers].filter(([, { accepts }]) => accepts.length > 0)
  const schemas = new Map(listedTools().map(({ name, inputSchema }) => [name, inputSchema]))
  const items = payable.map(([product, { resource, accepts, extensions }]) => ({
    resource,
    type: 'http',
    accepts,
    input: {
      method: 'POST',
      routeTemplate: new URL(resource.url).pathname,
      bodyType: 'json',
      ...(schemas.has(product) && { body: schemas.get(product) }),
    },
    output: { mimeType: 'application/json', example: extensions?.bazaar?.info?.output?.example ?? null },
  }))
  const tools = payable.flatMap(([product, { resource, accepts }]) => {
    const inputSchema = schemas.get(product)
    if (inputSchema === undefined) return []
    const input = { toolName: product, inputSchema, transport: 'streamable-http' }
    return [{ resource: { ...resource, url: `${url}/mcp` }, type: 'mcp', accepts, input }]
  })
  return { x402Version: 2, lastUpdated: Math.floor(since / 1_000), items: [...items, ...tools] as Json[] }
}

/** The host of an address in reverse: the owner of the domain may use the name. @example reverseName('https://a.example') === 'example.a/signal-service' */
export function reverseName(url: string): string {
  const { hostname } = new URL(url)
  const host = hostname.replaceAll(/[[\]:]/g, '')
  const labels = isIP(host) > 0 || hostname.startsWith('[') ? ['local'] : host.split('.')
  return `${labels.toReversed().join('.')}/${SERVER_NAME}`
}

const remoteOf = ({ url }: Described): JsonObject => ({
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
})

const identityOf = (described: Described): JsonObject => ({
  name: reverseName(described.url),
  title: SERVER_TITLE,
  description: DESCRIPTION,
  version: described.version,
  websiteUrl: `${described.url}/docs`,
})

/** `server.json` of the MCP registry, whose publisher tool takes it as it is. */
export const serverJson = (described: Described): JsonObject => ({
  $schema: SERVER_JSON_SCHEMA,
  ...identityOf(described),
  remotes: [remoteOf(described)],
  _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { tools: [...ALL_TOOL_NAMES] } },
})

/** The card of the MCP server: where it is and what it speaks, and none of its tools. */
export const serverCard = (described: Described): JsonObject => ({
  $schema: SERVER_CARD_SCHEMA,
  ...identityOf(described),
  remotes: [{ ...remoteOf(described), supportedProtocolVersions: [MODERN_VERSION, ...LEGACY_VERSIONS] }],
})

/** The catalogue of this origin, which leads to the card. */
export const aiCatalog = ({ url }: Described): JsonObject => ({
  specVersion: '1.0',
  entries: [
    {
      identifier: `urn:air:${new URL(url).hostname}:mcp:${SERVER_NAME}`,
      type: SERVER_CARD_TYPE,
      url: `${url}/mcp/server-card`,
    },
  ],
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
    `- [Server card](${url}/mcp/server-card): where the MCP server is and what it speaks`,
    `- [Everything in one file](${url}/llms-full.txt): all pages below`,
  ]
  return [
    BEGIN(url),
    section('Tools', tools),
    section('For machines', machine),
    ...pagesByReader(pages).map(({ reader, pages: read }) => section(reader, read.map(link))),
  ].join('\n\n')
}

const section = (title: string, lines: readonly string[]): string => `## ${title}\n\n${lines.join('\n')}\n`

/** `/llms-full.txt`: the pages themselves, but for those that are long lists made from the code. */
export const llmsFullText = (pages: readonly DocPage[], { url }: Described): string =>
  [
    BEGIN(url),
    ...pages.filter(({ isReference }) => !isReference).map(({ markdown }) => markdown.trim()),
  ].join('\n\n---\n\n')
