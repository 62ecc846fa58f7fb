import { isDeepStrictEqual } from 'node:util'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { Json, JsonObject } from '../../../contracts/json.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { boundedFetch } from '../../runtime/http/bounded-fetch.ts'
import { paced } from '../../runtime/http/paced.ts'

export interface ListingCheck {
  readonly part: string
  /** @throws ServiceError `listing_wrong`, `server_unreachable` */
  readonly describe: () => Promise<string | { readonly isDegraded: boolean; readonly detail: string }>
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface Offer {
  readonly resource: { readonly url: string }
  readonly accepts: readonly JsonObject[]
}

interface ManifestItem extends Offer {
  readonly type: 'http' | 'mcp'
  readonly input: { readonly toolName?: string; readonly inputSchema?: Json }
}

const ANSWER_MS = 15_000
const LONGEST_ANSWER = 4_194_304
/** Offers, and links of a page: each is asked for. */
const MOST_ANNOUNCED = 1_000

/**
 * Checks a deployment as indexers do, from outside and without a key: every announcement is compared with an answer.
 *
 * @param server address under which indexers would reach the service
 */
export function listingChecks(server: string): readonly ListingCheck[] {
  const origin = server.replace(/\/+$/, '')
  return [
    { part: 'address', describe: async () => checkAddress(origin) },
    { part: 'offers', describe: () => checkOffers(origin) },
    { part: 'MCP tools', describe: () => checkTools(origin) },
    { part: 'server.json', describe: () => checkServerJson(origin) },
    { part: 'server card', describe: () => checkCard(origin) },
    { part: 'OpenAPI', describe: () => checkOpenApi(origin) },
    { part: 'llms.txt', describe: () => checkLinks(origin) },
  ]
}

function checkAddress(origin: string) {
  if (origin.startsWith('https://')) return origin
  return { isDegraded: true, detail: `${origin} is not https: indexes list no such address` }
}

async function manifestOf(origin: string): Promise<readonly ManifestItem[]> {
  const { items } = await json<{ items: ManifestItem[] }>(`${origin}/.well-known/x402.json`)
  demand(
    items.length <= MOST_ANNOUNCED,
    `${items.length} offers are announced; ${MOST_ANNOUNCED} are looked at`,
  )
  for (const { resource } of items) requireOurs(origin, resource.url)
  return items
}

async function checkOffers(origin: string): Promise<string> {
  const items = (await manifestOf(origin)).filter(({ type }) => type === 'http')
  demand(items.length > 0, 'nothing can be paid for: no recipient is set (X402_PAY_TO)')
  for (const { resource, accepts } of items) {
    // As indexers probe: with GET, and with an empty POST. Plans are sold to keys only, so POST refuses who has none.
    const methods = resource.url.includes('/plans/') ? ['GET'] : ['GET', 'POST']
    for (const method of methods) requireOffer(await ask(resource.url, { method }), resource.url, accepts)
  }
  return `${items.length} offers, each answered with 402 as it is announced`
}

function requireOffer({ status, headers, text }: Answer, url: string, accepts: Offer['accepts']): void {
  demand(status === 402, `${url} answers ${status} to a request without payment; indexers expect 402`)
  const header = headers.get('payment-required') ?? ''
  const offer = parsed(Buffer.from(header, 'base64').toString(), `PAYMENT-REQUIRED of ${url}`) as Offer
  demand(
    isDeepStrictEqual(offer.accepts, accepts),
    `${url} offers something else than /.well-known/x402.json says`,
  )
  demand(offer.resource.url === url, `${url} makes an offer for ${offer.resource.url}`)
  const [first] = (parsed(text, `the body of ${url}`) as { accepts: JsonObject[] }).accepts
  demand(
    first?.maxAmountRequired === accepts[0]?.amount,
    `${url} asks for different prices in x402 versions 1 and 2`,
  )
}

async function checkTools(origin: string): Promise<string> {
  const { tools } = await rpc<{ tools: { name: string; inputSchema: Json }[] }>(
    `${origin}/mcp`,
    'tools/list',
    {},
  )
  const announced = (await manifestOf(origin)).filter(({ type }) => type === 'mcp')
  for (const { input } of announced) {
    const listed = tools.find(({ name }) => name === input.toolName)
    demand(listed !== undefined, `the tool ${input.toolName} is announced and not listed`)
    demand(
      isDeepStrictEqual(listed?.inputSchema, input.inputSchema),
      `the tool ${input.toolName} takes something else than is announced`,
    )
  }
  return `${tools.length} tools, ${announced.length} of them to be paid for`
}

interface Card {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly websiteUrl: string
  readonly remotes: readonly {
    readonly url: string
    readonly supportedProtocolVersions?: readonly string[]
  }[]
}

async function checkServerJson(origin: string): Promise<string> {
  const server = await json<Card>(`${origin}/server.json`)
  await requireCard(origin, server)
  return `${server.name} ${server.version}`
}

async function checkCard(origin: string): Promise<string> {
  const { entries } = await json<{ entries: { url: string }[] }>(`${origin}/.well-known/ai-catalog.json`)
  const [entry] = entries
  demand(entry !== undefined, 'the catalogue of this origin has no entry')
  requireOurs(origin, entry?.url ?? '')
  const card = await json<Card>(entry?.url ?? '')
  await requireCard(origin, card)
  const [remote] = card.remotes
  for (const version of remote?.supportedProtocolVersions ?? []) {
    const { protocolVersion } = await shakeHands(remote?.url ?? '', version)
    demand(
      protocolVersion === version,
      `the card says that ${version} is spoken; the server answers ${protocolVersion}`,
    )
  }
  return `${remote?.supportedProtocolVersions?.length ?? 0} revisions of MCP, each spoken`
}

/** Compares what a card says of a server with what the server says of itself. */
async function requireCard(
  origin: string,
  { name, version, description, websiteUrl, remotes }: Card,
): Promise<void> {
  demand(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/.test(name), `${name} is no name that the registry takes`)
  demand(
    description.length <= 100,
    `the description has ${description.length} characters; the registry takes 100`,
  )
  requireOurs(origin, websiteUrl)
  demand(remotes.length > 0, 'no address of the MCP server is given')
  for (const { url } of remotes) {
    requireOurs(origin, url)
    const { serverInfo } = await shakeHands(url, '2025-11-25')
    demand(
      serverInfo.version === version,
      `${url} is version ${serverInfo.version}, and ${version} is announced`,
    )
  }
}

interface Greeting {
  readonly protocolVersion: string
  readonly serverInfo: { readonly version: string }
}

/** The revision without a handshake says the same in another way. */
async function shakeHands(url: string, version: string): Promise<Greeting> {
  const isStateless = version >= '2026'
  if (!isStateless) {
    const clientInfo = { name: 'signal-doctor', version: '1' }
    return rpc<Greeting>(url, 'initialize', { protocolVersion: version, capabilities: {}, clientInfo })
  }
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'signal-doctor', version: '1' },
  }
  const headers = { 'mcp-protocol-version': version, 'mcp-method': 'server/discover' }
  const found = await rpc<{ supportedVersions: string[]; _meta: Record<string, Greeting['serverInfo']> }>(
    url,
    'server/discover',
    { _meta: meta },
    headers,
  )
  const { _meta: said } = found
  const serverInfo = said['io.modelcontextprotocol/serverInfo'] ?? { version: '' }
  return { protocolVersion: found.supportedVersions.includes(version) ? version : 'none', serverInfo }
}

async function checkOpenApi(origin: string): Promise<string> {
  const { servers, paths } = await json<{ servers: { url: string }[]; paths: Record<string, Json> }>(
    `${origin}/openapi.json`,
  )
  requireOurs(origin, servers[0]?.url ?? '')
  for (const { resource, type } of await manifestOf(origin)) {
    const { pathname } = new URL(resource.url)
    demand(pathname in paths, `${pathname} is announced (${type}) and not described`)
  }
  return `${Object.keys(paths).length} paths`
}

async function checkLinks(origin: string): Promise<string> {
  const { status, text } = await ask(`${origin}/llms.txt`)
  demand(status === 200 && text.startsWith('# '), `/llms.txt answers ${status}`)
  const links = [...new Set([...text.matchAll(/\]\((https?:[^)#\s]+)/g)].map(([, link]) => link ?? ''))]
  demand(
    links.length <= MOST_ANNOUNCED,
    `/llms.txt has ${links.length} links; ${MOST_ANNOUNCED} are looked at`,
  )
  for (const link of links.filter((one) => one.startsWith(`${origin}/`))) {
    const answer = await ask(link)
    demand(answer.status === 200, `/llms.txt leads to ${link}, which answers ${answer.status}`)
  }
  demand(
    links.some((link) => link.startsWith(`${origin}/`)),
    `/llms.txt has no link to ${origin}: PUBLIC_URL is another address`,
  )
  return `${links.length} links, each answered`
}

/** An address of another origin leads payments and keys elsewhere. */
function requireOurs(origin: string, url: string): void {
  const isOurs = url === origin || url.startsWith(`${origin}/`)
  demand(
    isOurs,
    `${JSON.stringify(url.slice(0, 200))} is announced, which is not at ${origin}: set PUBLIC_URL to it`,
  )
}

function demand(holds: boolean, message: string): void {
  if (!holds) throw new ServiceError('listing_wrong', { message })
}

async function json<Shape>(url: string): Promise<Shape> {
  const { status, text } = await ask(url)
  demand(status === 200, `${url} answers ${status}`)
  return parsed(text, url) as Shape
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new ServiceError('listing_wrong', { message: `${what} is no JSON` })
  }
}

async function rpc<Result>(
  url: string,
  method: string,
  params: JsonObject,
  headers: Readonly<Record<string, string>> = {},
): Promise<Result> {
  const { text } = await ask(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result } = parsed(text, url) as { result?: Result }
  if (result === undefined) {
    throw new ServiceError('listing_wrong', { message: `${url} refuses ${method}: ${text.slice(0, 200)}` })
  }
  return result
}

async function ask(url: string, init: Omit<RequestInit, 'signal'> = {}): Promise<Answer> {
  const once = async () => {
    const bounds = { timeMs: ANSWER_MS, mostBytes: LONGEST_ANSWER }
    const { status, headers, body } = await boundedFetch(url, init, bounds)
    return { status, headers, retryAfter: headers.get('retry-after'), text: body.toString() }
  }
  try {
    // Only the end of the process ends it.
    return await paced(once, { now: Date.now, sleep, signal: new AbortController().signal })
  } catch (error) {
    throw new ServiceError('server_unreachable', {
      message: `${url} does not answer: ${reasonOf(error)}`,
      cause: error,
    })
  }
}
