import { randomBytes } from 'node:crypto'
import {
  Client,
  type OAuthClientProvider,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { createTokens } from '../accounts/oauth/tokens.ts'
import {
  ask,
  asking,
  Browser,
  CLIENT_ID,
  callTool,
  clientDocument,
  exchanging,
  hidden,
  type OAuthService,
  REDIRECT,
  startOAuthService,
  VERIFIER,
} from './testing/oauth-service.fixture.ts'

let service: OAuthService
let url: string
let browser: Browser
let clients: Client[]

/** Everybody signs in anew: tests share a service, and no account. */
let email: string
let people = 0

beforeAll(async () => {
  service = await startOAuthService()
})
afterAll(() => service.stop())
beforeEach(() => {
  url = service.url
  email = `ada-${++people}@example.com`
  browser = new Browser(service)
  clients = []
  // Documents of clients are looked up anew.
  service.world.now += 120_000
  service.documents.set(CLIENT_ID, clientDocument())
  service.calls.splice(0)
})
afterEach(() => Promise.all(clients.map((client) => client.close())))

/** The code of a sign-in that was said yes to. */
const codeFor = async (change: Record<string, string> = {}): Promise<string> =>
  (await browser.letIn(asking(url, change), email)).searchParams.get('code') ?? ''

const tokensFor = async (change: Record<string, string> = {}): Promise<Record<string, string>> =>
  (await ask(url, exchanging(await codeFor(change)))).body

const refreshing = (token: string, change: Record<string, string> = {}): Record<string, string> => ({
  grant_type: 'refresh_token',
  refresh_token: token,
  client_id: CLIENT_ID,
  ...change,
})

async function keyOf(address: string): Promise<string> {
  return (await service.world.signIn(service.accounts, address)).key
}

async function api(method: string, path: string, key: string, body?: object): Promise<Response> {
  return fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
}

/** A program that keeps its tokens in memory and whose browser is the test's. */
class Program implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT
  readonly clientMetadataUrl?: string
  readonly clientMetadata = { client_name: 'Example App', redirect_uris: [REDIRECT] }
  opened: URL | undefined
  kept: StoredOAuthTokens | undefined
  #info: StoredOAuthClientInformation | undefined
  #verifier = ''
  constructor(clientMetadataUrl?: string) {
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
  }
  clientInformation = () => this.#info
  saveClientInformation = (info: StoredOAuthClientInformation) => void (this.#info = info)
  tokens = () => this.kept
  saveTokens = (tokens: StoredOAuthTokens) => void (this.kept = tokens)
  redirectToAuthorization = (to: URL) => void (this.opened = to)
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier)
  codeVerifier = () => this.#verifier
}

async function connect(
  authProvider: OAuthClientProvider,
  transport = transportFor(authProvider),
): Promise<Client> {
  const client = new Client(
    { name: 'referee', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  clients.push(client)
  await client.connect(transport)
  return client
}

const transportFor = (authProvider: OAuthClientProvider) =>
  new StreamableHTTPClientTransport(new URL(`${url}/mcp?auth=required`), { authProvider })

describe('the official client', () => {
  test.each([
    ['known by its document', CLIENT_ID],
    ['that registers itself', undefined],
  ])('%s is told to sign in, finds the server, and calls for the account of who said yes', async (_, id) => {
    const program = new Program(id)
    const first = transportFor(program)
    await expect(connect(program, first)).rejects.toBeInstanceOf(UnauthorizedError)
    const { opened } = program
    expect(opened?.origin + (opened?.pathname ?? '')).toBe(`${url}/oauth/authorize`)
    expect(opened?.searchParams.get('resource')).toBe(`${url}/mcp`)
    const sentTo = await browser.letIn(opened?.search.slice(1) ?? '', email)
    expect(sentTo.origin + sentTo.pathname).toBe(REDIRECT)
    await first.finishAuth(sentTo.searchParams)
    const client = await connect(program)
    await client.callTool({ name: 'get_trade_call', arguments: { coin: 'BTC' } })
    const { accountId } = await service.world.signIn(service.accounts, email)
    expect(service.calls.map(({ payer }) => payer)).toEqual([accountId])

    // An hour later it comes back with its refresh token, by itself.
    service.world.now += 3_600_000
    const before = program.kept?.access_token
    await client.callTool({ name: 'get_trade_call', arguments: { coin: 'BTC' } })
    expect(program.kept?.access_token).not.toBe(before)
    expect(service.calls).toHaveLength(2)
  })
})

describe('who is challenged', () => {
  test('is nobody without a token, but where it is asked for', async () => {
    expect((await callTool(url)).status).toBe(200)
    expect((await callTool(url, 'sk_live_nonsense')).status).toBe(200)
    const asked = await callTool(url, undefined, 'get_trade_call', '/mcp?auth=required')
    expect(asked.status).toBe(401)
    expect(asked.headers.get('www-authenticate')).toBe(
      `Bearer scope="calls", resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`,
    )
    const key = await keyOf(email)
    expect((await callTool(url, key, 'get_trade_call', '/mcp?auth=required')).status).toBe(200)
    expect((await callTool(url, 'sk_live_no', 'get_trade_call', '/mcp?auth=required')).status).toBe(401)
  })

  test('is who sends a token that is forged, cut, expired or of another address', async () => {
    const { access_token: token = '' } = await tokensFor()
    expect((await callTool(url, token)).status).toBe(200)
    const bytes = Buffer.from(token.slice(4), 'base64url')
    bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20)
    const forged = `sat_${bytes.toString('base64url')}`
    for (const bad of [forged, token.slice(0, -4), 'sat_AAAA', `${token}A`]) {
      const answer = await callTool(url, bad)
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"')
    }
    // Another service with the same log and the same secrets, known by another address.
    const other = await startOAuthService(service.world)
    expect((await callTool(other.url, token)).status).toBe(401)
    await other.stop()
    service.world.now += 3_600_000
    expect((await callTool(url, token)).status).toBe(401)
  })

  test('is who was let do less', async () => {
    const { access_token: token } = await tokensFor()
    const answer = await callTool(url, token, 'create_webhook')
    expect(answer.status).toBe(403)
    expect(answer.headers.get('www-authenticate')).toMatch(
      /^Bearer error="insufficient_scope", scope="calls webhooks"/,
    )
    const { access_token: more } = await tokensFor({ scope: 'calls webhooks' })
    expect((await callTool(url, more, 'create_webhook')).status).toBe(200)
  })

  test('no access token does anything but at /mcp: it makes no keys and reads no account', async () => {
    const { access_token: token = '' } = await tokensFor({ scope: 'calls webhooks' })
    for (const [method, path] of [
      ['GET', '/api/account'],
      ['POST', '/api/keys'],
      ['GET', '/api/apps'],
      ['DELETE', '/api/account'],
      ['GET', '/api/verdicts'],
    ] as const) {
      const answer = await api(method, path, token)
      expect(answer.status, path).toBe(401)
      expect(await answer.json()).toMatchObject({ code: 'unauthorized' })
    }
  })
})

describe('codes', () => {
  test('one comes with what it was asked with, and is good once: the second time shuts the program out', async () => {
    const sentTo = await browser.letIn(asking(url), email)
    expect(Object.fromEntries(sentTo.searchParams)).toMatchObject({ state: 'of the client', iss: url })
    const given = exchanging(sentTo.searchParams.get('code') ?? '')
    const first = await ask(url, given)
    expect(first).toMatchObject({
      status: 200,
      body: { token_type: 'Bearer', expires_in: 3_600, scope: 'calls' },
    })
    expect(first.headers.get('cache-control')).toBe('no-store')
    expect(await ask(url, given)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect((await callTool(url, first.body.access_token)).status).toBe(401)
    expect(await ask(url, refreshing(first.body.refresh_token ?? ''))).toMatchObject({
      body: { error: 'invalid_grant' },
    })
  })

  test.each([
    [{ code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
    [{ code_verifier: '' }, 'invalid_request'],
    [{ redirect_uri: 'https://app.example/callback' }, 'invalid_grant'],
    [{ client_id: 'https://other.example/client.json' }, 'invalid_grant'],
    [{ resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    [{ code: 'sac_forged' }, 'invalid_grant'],
    [{ client_secret: 'guess' }, 'invalid_client'],
    [{ client_assertion: 'e30.e30.e30' }, 'invalid_client'],
    [{ grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
  ])('with %j is refused as %s, and the code stays good', async (change, error) => {
    const code = await codeFor()
    const answer = await ask(url, exchanging(code, change))
    expect(answer.body.error).toBe(error)
    expect((await ask(url, exchanging(code))).status).toBe(200)
  })

  test('expire after a minute', async () => {
    const code = await codeFor()
    service.world.now += 60_000
    expect((await ask(url, exchanging(code))).body.error).toBe('invalid_grant')
  })

  test('two processes at once give tokens once, and those end with the second', async () => {
    const code = await codeFor()
    const other = await startOAuthService(service.world)
    const [one, two] = await Promise.all([url, other.url].map((at) => ask(at, exchanging(code))))
    expect([one?.status, two?.status].toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual([200, 400])
    const token = one?.body.access_token ?? two?.body.access_token
    expect((await callTool(url, token)).status).toBe(401)
    await other.stop()
  })

  test('a process that comes after goes on with what was given before', async () => {
    const code = await codeFor()
    const { refresh_token: refresh = '' } = await (async () => (await ask(url, exchanging(code))).body)()
    const { world } = service
    await service.stop()
    service = await startOAuthService(world)
    url = service.url
    expect((await ask(url, refreshing(refresh))).status).toBe(200)
    expect((await ask(url, exchanging(code))).body.error).toBe('invalid_grant')
  })
})

describe('a program that registers itself', () => {
  const register = async (body: object | string) => {
    const sent = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }
    const answer = await fetch(`${url}/oauth/register`, sent)
    return { status: answer.status, body: (await answer.json()) as Record<string, string> }
  }

  test('is shown by its own word and nothing else, and leaves nothing in the log', async () => {
    await browser.letIn(asking(url), email)
    const before = service.world.text()
    const { status, body } = await register({
      client_name: 'Other <b>App</b>',
      redirect_uris: [REDIRECT],
      x: 1,
    })
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ token_endpoint_auth_method: 'none', redirect_uris: [REDIRECT] }),
    ])
    expect(service.world.text()).toBe(before)
    const page = await (
      await browser.open(`/oauth/authorize?${asking(url, { client_id: body.client_id })}`)
    ).text()
    expect(page).toContain('Other &lt;b&gt;App&lt;/b&gt;')
    expect(page).toContain('nobody has checked it')
    expect(page).not.toContain('Its site')
  })

  const redirect_uris = [REDIRECT]
  test.each<[string, object | string, string]>([
    ['text that is no JSON', '{', 'invalid_client_metadata'],
    ['no redirect', { client_name: 'x' }, 'invalid_redirect_uri'],
    ['a redirect that is not https', { redirect_uris: ['http://bot.example/back'] }, 'invalid_redirect_uri'],
    ['a mark in a host', { redirect_uris: ['https://a.example;sandbox/'] }, 'invalid_redirect_uri'],
    [
      'a secret',
      { redirect_uris, token_endpoint_auth_method: 'client_secret_post' },
      'invalid_client_metadata',
    ],
    ['marks in the name', { redirect_uris, client_name: 'a\u202eb' }, 'invalid_client_metadata'],
    ['another grant alone', { redirect_uris, grant_types: ['implicit'] }, 'invalid_client_metadata'],
    [
      'too much',
      { redirect_uris: [1, 2].map((n) => `https://a.example/${'x'.repeat(900)}${n}`) },
      'invalid_client_metadata',
    ],
  ])('with %s is refused in the words of RFC 7591, and leaves nothing', async (_, body, error) => {
    const before = service.world.text()
    expect(await register(body)).toMatchObject({ status: 400, body: { error } })
    expect(service.world.text()).toBe(before)
  })

  test('signs in for 30 days, and registers again then; what was let in goes on', async () => {
    const query = asking(url, { client_id: (await register({ redirect_uris })).body.client_id })
    await browser.letIn(query, email)
    service.world.now += LIMITS.refreshTokenMs
    expect(await (await browser.open(`/oauth/authorize?${query}`)).text()).toContain('registers again')
  })

  test('under an id that was changed, or is of another service, is shown to the person', async () => {
    const { body } = await register({ redirect_uris })
    const id = body.client_id ?? ''
    await browser.letIn(asking(url), email)
    const ofOther = createTokens(randomBytes(32), randomBytes).client(
      { name: 'Ours', redirectUris: redirect_uris },
      service.world.now,
    )
    for (const client_id of [ofOther, `${id.slice(0, -8)}AAAAAAAA`, `src_${'A'.repeat(200)}`]) {
      const answer = await browser.open(`/oauth/authorize?${asking(url, { client_id })}`)
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('/oauth/register')])
    }
  })
})

describe('refresh tokens', () => {
  test('change with each use, and the second use of one shuts the program out', async () => {
    const first = await tokensFor()
    const second = (await ask(url, refreshing(first.refresh_token ?? ''))).body
    expect((await callTool(url, second.access_token)).status).toBe(200)
    expect((await ask(url, refreshing(first.refresh_token ?? ''))).body.error).toBe('invalid_grant')
    for (const { access_token: token, refresh_token: refresh } of [first, second]) {
      expect((await callTool(url, token)).status).toBe(401)
      expect((await ask(url, refreshing(refresh ?? ''))).body.error).toBe('invalid_grant')
    }
  })

  test('are for their client, for no more than was granted, and for thirty days', async () => {
    const { refresh_token: token = '' } = await tokensFor()
    const asked = (change: Record<string, string>) => ask(url, refreshing(token, change))
    expect((await asked({ client_id: 'https://other.example/c.json' })).body.error).toBe('invalid_grant')
    expect((await asked({ scope: 'calls webhooks' })).body.error).toBe('invalid_scope')
    service.world.now += 30 * 86_400_000
    expect((await asked({})).body.error).toBe('invalid_grant')
  })

  test.each(['refresh_token', 'access_token'])('a %s that is given back ends both', async (which) => {
    const tokens = await tokensFor()
    const back = { token: tokens[which] ?? '', client_id: CLIENT_ID }
    const wrong = await ask(url, { ...back, client_id: 'https://other.example/c.json' }, {}, '/oauth/revoke')
    expect(wrong.body.error).toBe('invalid_client')
    expect((await callTool(url, tokens.access_token)).status).toBe(200)
    expect((await ask(url, back, {}, '/oauth/revoke')).status).toBe(200)
    expect((await callTool(url, tokens.access_token)).status).toBe(401)
    expect((await ask(url, refreshing(tokens.refresh_token ?? ''))).body.error).toBe('invalid_grant')
    expect((await ask(url, { token: 'nonsense' }, {}, '/oauth/revoke')).status).toBe(200)
  })

  test('an access token that has ended and a refresh token that was replaced end nothing', async () => {
    const first = await tokensFor()
    const second = (await ask(url, refreshing(first.refresh_token ?? ''))).body
    const giveBack = async (token = '') => (await ask(url, { token }, {}, '/oauth/revoke')).status
    expect(await giveBack(first.refresh_token)).toBe(200)
    expect((await callTool(url, second.access_token)).status).toBe(200)
    service.world.now += 2 * 86_400_000
    expect(await giveBack(first.access_token)).toBe(200)
    const third = (await ask(url, refreshing(second.refresh_token ?? ''))).body
    expect((await callTool(url, third.access_token)).status).toBe(200)
    expect(await giveBack(third.access_token)).toBe(200)
    expect((await callTool(url, third.access_token)).status).toBe(401)
  })
})

describe('the owner', () => {
  test('sees who was let in, and shuts it out', async () => {
    const { access_token: token } = await tokensFor()
    const page = await (await browser.open('/account')).text()
    expect(page).toContain('Example App')
    expect(page).toContain('127.0.0.1:7777')
    const [, id = ''] =
      /action="\/account\/apps\/end"[^>]*><input type="hidden" name="id" value="([^"]+)"/.exec(page) ?? []
    await browser.send('/account/apps/end', { id })
    expect((await callTool(url, token)).status).toBe(401)
    expect(await (await browser.open('/account')).text()).not.toContain('Example App')
  })

  test('who erases the account ends all that acts for it, and nothing of it is in the log in clear', async () => {
    const tokens = await tokensFor()
    const key = await keyOf(email)
    await api('DELETE', '/api/account', key)
    expect((await callTool(url, tokens.access_token)).status).toBe(401)
    expect((await ask(url, refreshing(tokens.refresh_token ?? ''))).body.error).toBe('invalid_grant')
    await keyOf(email)
    expect((await callTool(url, tokens.access_token)).status).toBe(401)
    const text = service.world.text()
    const given = Object.values(tokens).filter(
      (value) => typeof value === 'string' && /^s[a-z]{2}_/.test(value),
    )
    expect(given).toHaveLength(2)
    for (const secret of ['Example App', CLIENT_ID, VERIFIER, ...given]) {
      expect(text).not.toContain(secret)
    }
  })

  test('says no, and the program is told', async () => {
    const page = await browser.signIn(
      await (await browser.open(`/oauth/authorize?${asking(url)}`)).text(),
      email,
    )
    expect(page).toContain('Example App')
    expect(page).toContain('a program on your own computer')
    const answer = await browser.send('/oauth/authorize', { ...hidden(page), decision: 'deny' })
    const sentTo = new URL(answer.headers.get('location') ?? '')
    expect(Object.fromEntries(sentTo.searchParams)).toEqual({
      error: 'access_denied',
      state: 'of the client',
      iss: url,
    })
  })

  test('a page of another site says yes for nobody', async () => {
    await codeFor()
    const form = { request: asking(url), decision: 'allow' }
    for (const origin of ['https://evil.example', 'null']) {
      const answer = await browser.send('/oauth/authorize', form, { origin })
      expect(answer.status).toBe(403)
      expect(answer.headers.get('location')).toBeNull()
    }
    const page = await browser.open(`/oauth/authorize?${asking(url)}`)
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1:7777;")
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })

  test.each(['https://evil.example/', '//evil.example/oauth/authorize?', '/account', '/oauth/authorize'])(
    'a sign-in does not lead on to %s',
    async (elsewhere) => {
      const fields = { return_to: elsewhere, email: email }
      const page = await (await browser.askForCode(fields)).text()
      expect(page).not.toContain('evil.example')
      const code = service.world.codeFor(email)
      const confirmed = await browser.send('/account/confirm', {
        ...hidden(page),
        code,
        return_to: elsewhere,
      })
      expect(confirmed.headers.get('location')).toBe('/account?signed_in=1')
    },
  )
})

describe('a request for a sign-in', () => {
  test.each([
    ['http://127.0.0.1:9/callback', true],
    ['https://app.example/callback', true],
    ['https://app.example/callback/', false],
    ['https://app.example/callback?next=1', false],
    ['https://app.example.evil.example/callback', false],
    ['https://app.example@evil.example/callback', false],
    ['https://APP.example/callback', false],
    ['https://app.example:8443/callback', false],
    ['https://app.example/callback#fragment', false],
    ['https://app.example/../callback', false],
    ['https://app.example\\@evil.example/callback', false],
    ['http://localhost:9/callback', false],
    ['http://127.0.0.1.evil.example/callback', false],
    ['http://127.0.0.1:9@evil.example/callback', false],
    ['http://127.1:9/callback', false],
    ['http://[::1]:9/callback', false],
    ['http://localhost.:9/callback', false],
    ['javascript:alert(1)', false],
  ])('that leads to %s is let on: %s', async (redirect, isLetOn) => {
    const answer = await browser.open(`/oauth/authorize?${asking(url, { redirect_uri: redirect })}`)
    expect(answer.status).toBe(isLetOn ? 200 : 400)
    expect(answer.headers.get('location')).toBeNull()
    if (!isLetOn) expect(await answer.text()).not.toContain('href="http')
  })

  test.each([
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge_method: undefined }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ scope: 'everything' }, 'invalid_scope'],
    [{ resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    [{ request_uri: 'https://evil.example/' }, 'invalid_request'],
  ])('with %j is told to the client as %s, when its person goes there', async (change, error) => {
    const answer = await browser.open(`/oauth/authorize?${asking(url, change)}`)
    expect(answer.status).toBe(400)
    const page = await answer.text()
    const [, link = ''] = /<a href="([^"]+)" rel="noreferrer"/.exec(page) ?? []
    const { searchParams } = new URL(link.replaceAll('&amp;', '&'))
    expect(searchParams.get('error')).toBe(error)
    expect(searchParams.get('iss')).toBe(url)
  })

  test.each([
    ['http://app.example/client.json'],
    ['https://app.example'],
    ['https://app.example/a/../client.json'],
    ['https://app.example/client.json#a'],
    ['https://ada@app.example/client.json'],
    ['https://unknown.example/client.json'],
    ['somebody'],
  ])('of the client %s goes no further', async (clientId) => {
    const answer = await browser.open(`/oauth/authorize?${asking(url, { client_id: clientId })}`)
    expect(answer.status).toBe(400)
  })

  test.each([
    [{ client_id: 'https://app.example/other.json' }, 'another than its address'],
    [{ redirect_uris: ['http://evil.example/'] }, 'not https'],
    [{ redirect_uris: ['https://app;sandbox/'] }, 'neither a name nor an address'],
    [{ redirect_uris: ['https://app,default-src/'] }, 'neither a name nor an address'],
    [{ redirect_uris: ["https://app$'/"] }, 'neither a name nor an address'],
    [{ redirect_uris: ['https://app$`/'] }, 'characters that no address holds'],
    [{ redirect_uris: [] }, 'redirect_uris'],
    [{ client_name: undefined }, 'client_name'],
    [{ client_name: 'two\nlines' }, 'client_name'],
    [{ client_secret: 'published' }, 'client_secret'],
    [{ token_endpoint_auth_method: 'client_secret_basic' }, 'token_endpoint_auth_method'],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, 'token_endpoint_auth_method'],
  ])('of a client whose document says %j goes no further', async (change, problem) => {
    service.documents.set(CLIENT_ID, clientDocument(change))
    const answer = await browser.open(`/oauth/authorize?${asking(url)}`)
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain(problem)
  })

  test('escapes what a client calls itself', async () => {
    service.documents.set(CLIENT_ID, clientDocument({ client_name: '<script>x</script>' }))
    const page = await browser.signIn(
      await (await browser.open(`/oauth/authorize?${asking(url)}`)).text(),
      email,
    )
    expect(page).not.toContain('<script>x')
    expect(page).toContain('&lt;script&gt;x')
  })
})

test('what programs find the service by says where it is', async () => {
  const read = async (path: string) =>
    (await fetch(`${url}${path}`)).json() as Promise<Record<string, unknown>>
  const resource = await read('/.well-known/oauth-protected-resource/mcp')
  expect(resource).toMatchObject({ resource: `${url}/mcp`, authorization_servers: [url] })
  expect(await read('/.well-known/oauth-protected-resource')).toEqual(resource)
  expect(await read('/.well-known/oauth-authorization-server')).toMatchObject({
    issuer: url,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
  })
})
