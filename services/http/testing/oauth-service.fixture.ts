import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Accounts, FetchDocument } from '../../accounts/index.ts'
import { aWorld, type Process, type World } from '../../accounts/testing/accounts.fixture.ts'
import { createServer } from '../../composition/server.ts'
import type { EventStore } from '../../log/event-store.ts'
import { mcpOptions } from '../../mcp/testing/mcp-edge.fixture.ts'
import { sampleAnswer } from '../../mcp/testing/sample-answers.fixture.ts'
import type { ToolCall } from '../../tool-calls/tool-call.ts'
import { serverOptions } from './server-options.fixture.ts'

export const CLIENT_ID = 'https://app.example/oauth/client.json'
export const REDIRECT = 'http://127.0.0.1:7777/callback'
export const VERIFIER = 'v'.repeat(43)
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

/** A process of the service with real accounts and its real edge, on a port of its own; tools are the test's. */
export interface OAuthService {
  readonly url: string
  readonly world: World
  readonly process: Process
  readonly accounts: Accounts
  readonly app: FastifyInstance
  /** The accounts whose calls were answered. */
  readonly calls: (ToolCall & { readonly payer: string })[]
  readonly documents: Map<string, object>
  stop(): Promise<void>
}

/**
 * @param world one whose log another process shares; a new one where it is left out
 * @param place another store than the world's, and a port of its own choice
 */
export async function startOAuthService(
  world: World = aWorld(),
  fetchDocument?: FetchDocument,
  place: { readonly store?: EventStore; readonly port?: number } = {},
): Promise<OAuthService> {
  const address = { url: '' }
  const documents = new Map<string, object>([[CLIENT_ID, clientDocument()]])
  const process = await world.start({
    ...(place.store && { store: place.store }),
    publicUrl: () => address.url,
    fetchDocument:
      fetchDocument ??
      (async (url) => {
        const body = documents.get(url)
        if (body === undefined) throw new Error('there is no such document')
        return { status: 200, contentType: 'application/json', maxAgeS: 0, body: JSON.stringify(body) }
      }),
  })
  const { accounts } = process
  const calls: OAuthService['calls'] = []
  const limiter = { take: async () => undefined }
  const app = await createServer(
    serverOptions({
      publicUrl: () => address.url,
      usage: async () => ({
        tier: 'free',
        window: { id: '2026-11', from: '2026-11-01T00:00:00.000Z', to: '2026-12-01T00:00:00.000Z' },
        quota: QUOTA,
        days: [],
        debits: [],
        next: null,
      }),
      accounts: {
        accounts,
        quotaOf: async () => QUOTA,
        signInRequests: limiter,
        signInTries: limiter,
        clientDocuments: limiter,
      },
      mcp: mcpOptions({
        calls: {
          async call(call) {
            const identity = await accounts.identify(call.authorization)
            calls.push({ ...call, payer: identity.outcome === 'OK' ? identity.accountId : identity.outcome })
            return { body: sampleAnswer('get_trade_call'), isReplay: false }
          },
        },
        async checkKey(authorization) {
          const { outcome } = await accounts.identify(authorization)
          return outcome === 'UNKNOWN'
            ? 'key_unknown'
            : outcome === 'INDETERMINATE'
              ? 'key_unverifiable'
              : 'ok'
        },
      }),
    }),
  )
  await app.listen({ host: '127.0.0.1', port: place.port ?? 0 })
  address.url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  return {
    url: address.url,
    world,
    process,
    accounts,
    app,
    calls,
    documents,
    async stop() {
      await app.close()
      await process.close()
    },
  }
}

const QUOTA = {
  remaining: 200,
  limit: 200,
  used: 0,
  resets_at: '2026-12-01T00:00:00.000Z',
  daily: null,
}

export const clientDocument = (change: object = {}): object => ({
  client_id: CLIENT_ID,
  client_name: 'Example App',
  redirect_uris: ['http://127.0.0.1/callback', 'https://app.example/callback'],
  ...change,
})

/** Parameters of a request for a sign-in; give what matters to the test, undefined to leave one out. */
export function asking(url: string, change: Readonly<Record<string, string | undefined>> = {}): string {
  const parameters = {
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: REDIRECT,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'of the client',
    scope: 'calls',
    resource: `${url}/mcp`,
    ...change,
  }
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return new URLSearchParams(given).toString()
}

/** The address that a browser opens, and the mailbox that it reads. */
export interface Visited {
  readonly url: string
  readonly world: Pick<World, 'codeFor'>
}

/** A browser without scripts: it keeps cookies, follows what leads on within the service, and sends forms. */
export class Browser {
  readonly #service: Visited
  readonly #cookies = new Map<string, string>()
  constructor(service: Visited) {
    this.#service = service
  }

  async open(path: string): Promise<Response> {
    const response = await fetch(`${this.#service.url}${path}`, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: this.#cookie() },
    })
    return this.#kept(response)
  }

  async send(path: string, fields: Readonly<Record<string, string>>, headers = {}): Promise<Response> {
    const response = await fetch(`${this.#service.url}${path}`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(fields),
      headers: { accept: 'text/html', cookie: this.#cookie(), origin: this.#service.url, ...headers },
    })
    return this.#kept(response)
  }

  /** Opens a sign-in of a program, signs in by a code where it has to, and says yes. @returns where it is sent */
  async letIn(query: string, email = 'ada@example.com'): Promise<URL> {
    const path = `/oauth/authorize?${query}`
    let page = await (await this.open(path)).text()
    if (page.includes('action="/account/sign-in"')) {
      page = await this.signIn(page, email)
    }
    const answer = await this.send('/oauth/authorize', { ...hidden(page), decision: 'allow' })
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`it was not let in: ${await answer.text()}`)
    return new URL(location)
  }

  /** @returns the page that the sign-in led to */
  async signIn(page: string, email: string): Promise<string> {
    const codePage = await (await this.askForCode({ ...hidden(page), email })).text()
    const code = this.#service.world.codeFor(email)
    const confirmed = await this.send('/account/confirm', { ...hidden(codePage), code })
    const location = confirmed.headers.get('location')
    if (location === null) throw new Error(`the code was not taken: ${await confirmed.text()}`)
    const signedIn = await this.open(location)
    const onward = signedIn.headers.get('location')
    return (onward === null ? signedIn : await this.open(onward)).text()
  }

  /** @returns the page that takes the code */
  async askForCode(fields: Record<string, string>): Promise<Response> {
    const asked = await this.send('/account/sign-in', fields)
    return this.open(asked.headers.get('location') ?? '')
  }

  #cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  #kept(response: Response): Response {
    for (const cookie of response.headers.getSetCookie()) {
      const [name = '', value = ''] = cookie.split(';')[0]?.split('=') ?? []
      this.#cookies.set(name, value)
    }
    return response
  }
}

const UNESCAPED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** Hidden fields of a page. */
export const hidden = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name, value]) => [
      name ?? '',
      (value ?? '').replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, sign: string) => UNESCAPED[sign] ?? ''),
    ]),
  )

/** Asks the endpoint of tokens. */
export async function ask(
  url: string,
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
  path = '/oauth/token',
): Promise<{ readonly status: number; readonly body: Record<string, string>; readonly headers: Headers }> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    body: new URLSearchParams(parameters),
    headers,
  })
  return {
    status: response.status,
    body: (await response.json()) as Record<string, string>,
    headers: response.headers,
  }
}

/** The exchange of a code. */
export const exchanging = (code: string, change: Readonly<Record<string, string>> = {}) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: REDIRECT,
  client_id: CLIENT_ID,
  code_verifier: VERIFIER,
  ...change,
})

/** Calls a tool over MCP. */
export const callTool = (
  url: string,
  token?: string,
  name = 'get_trade_call',
  path = '/mcp',
): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { coin: 'BTC' } },
    }),
  })
