import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { beginSignal } from '../../services/cli/kit/run-signal.fixture.ts'
import {
  asking,
  ask as askTokens,
  Browser,
  CLIENT_ID,
  exchanging,
  startOAuthService,
} from '../../services/http/testing/oauth-service.fixture.ts'
import {
  type ServiceProcess,
  startServiceProcess,
} from '../../services/http/testing/start-service-process.ts'
import { openEmbeddedStore } from '../../services/log/embedded/embedded-store.ts'
import { signAuthorization } from '../../services/payments/testing/chain/sign-authorization.ts'
import { encoded, PAY_TO, paymentV2 } from '../../services/payments/testing/sign-payment.ts'
import { readSettings } from '../../services/runtime/config/read-settings.ts'
import { SETTINGS, type SettingName } from '../../services/runtime/config/settings.ts'
import { type Canary, filesBelow, formsOf, foundIn, marked, markedBytes } from './canaries.fixture.ts'

const CLIENT_ADDRESS = '2001:db8:77:aa::1234'
const EMAIL = `${marked('e-mail')}@example.com`
const QUESTION = `What is a regime, ${marked('question')}?`
const LABEL = marked('label')
const PAYER = privateKeyToAccount(`0x${markedBytes('payer').toString('hex')}`)
const SEALING = markedBytes('SEALING_KEY')
const WRAPPING = markedBytes('WRAPPING_KEYS')
const SIGNING = markedBytes('LOG_KEYS')

/** Everything that the operator keeps secret, as somebody who steals it would look for it. */
const SECRETS: Readonly<Partial<Record<SettingName, string | Buffer>>> = {
  SMTP_URL: marked('SMTP_URL'),
  VENUE_URLS: marked('VENUE_URLS'),
  EVENTSTORE_URL: marked('EVENTSTORE_URL'),
  NATS_URL: marked('NATS_URL'),
  REDIS_URL: marked('REDIS_URL'),
  OPERATOR_TOKEN: marked('OPERATOR_TOKEN'),
  LLM_BASE_URL: marked('LLM_BASE_URL'),
  LLM_API_KEY: marked('LLM_API_KEY'),
  SEALING_KEY: SEALING,
  WRAPPING_KEYS: WRAPPING,
  LOG_KEYS: SIGNING,
  X402_RPC_URL: marked('X402_RPC_URL'),
  X402_FACILITATOR_TOKEN: marked('X402_FACILITATOR_TOKEN'),
  X402_CDP_KEY: marked('X402_CDP_KEY'),
}
const secretCanaries: readonly Canary[] = Object.entries(SECRETS).map(([name, value]) => ({ name, value }))

/** Secrets of people from before they come. */
const personal: readonly Canary[] = [
  { name: 'e-mail address', value: marked('e-mail') },
  { name: 'client address', value: '2001:db8:77:aa' },
  { name: 'label of a key', value: LABEL },
  { name: 'question', value: marked('question') },
  { name: 'path of a webhook', value: marked('path') },
  { name: 'text of a receiver', value: marked('receiver') },
]
/** Secrets that the service made for somebody, and showed once. */
const handedOut: Canary[] = []
const note = (name: string, value: unknown): string => {
  const text = typeof value === 'string' ? value : expect.fail(`${name} is no text: ${String(value)}`)
  expect(text.length, name).toBeGreaterThan(9)
  handedOut.push({ name, value: text })
  return text
}

interface Answer {
  readonly asked: string
  readonly status: number
  /** Headers and body. */
  readonly text: string
  readonly body: string
}
const answers: Answer[] = []

let service: ServiceProcess
/** Address of the service under test. */
let base: string
let folder: string
let outsider: Server
let mail: SMTPServer
let outside: string
/** Messages to others than callers: mails, deliveries, models, nodes. They are not searched for secrets of their own receivers. */
const mails: string[] = []
let doesMailRefuse = false
let deliveries = 0 // in their order: a test has no number
let asOperator: Readonly<Record<string, string>>

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** Everybody else on the net at one address: each answers with all that it was sent, as badly written servers do. */
async function startOutsider(): Promise<Server> {
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const body = await readAll(request)
      const { url = '', headers } = request
      if (headers['x-service-sequence'] !== undefined) deliveries += 1
      const message = `refused: ${url} ${JSON.stringify(headers)} ${body.toString()} ${marked('receiver')}`
      response.writeHead(url.startsWith('/hook') ? 410 : 500, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message } }))
    }
    answer().catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function startMailServer(): Promise<SMTPServer> {
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    onAuth: (_auth, _session, done) => done(null, { user: 'signals' }),
    onRcptTo: ({ address }, _session, done) =>
      done(doesMailRefuse ? new Error(`550 no such person: ${address}`) : null),
    onData(stream, _session, done) {
      let text = ''
      stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')))
      stream.on('end', () => {
        mails.push(text)
        done()
      })
    },
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

/** Settings of every service here. */
const common = () => ({
  LOG_LEVEL: 'trace',
  // So many that one of them calls within a minute of the market.
  COINS: 'BTC,ETH,SOL,XRP,DOGE,ADA,AVAX,LINK',
  TIMEFRAMES: '1m,3m,1h',
  MARKET_SPEED: '120',
  TRUST_PROXY: '1',
  WEBHOOKS_ALLOW_PRIVATE: 'true',
  OPERATOR_TOKEN: marked('OPERATOR_TOKEN'),
  SEALING_KEY: SEALING.toString('base64'),
  WRAPPING_KEYS: WRAPPING.toString('base64'),
  LOG_KEYS: `ed25519 ${SIGNING.toString('base64')}`,
})

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leaks-'))
  outsider = await startOutsider()
  outside = `127.0.0.1:${(outsider.address() as AddressInfo).port}`
  mail = await startMailServer()
  asOperator = { authorization: `Bearer ${marked('OPERATOR_TOKEN')}` }
  const { port } = mail.server.address() as AddressInfo
  service = await startServiceProcess({
    ...common(),
    SMTP_URL: `smtp://signals:${marked('SMTP_URL')}@127.0.0.1:${port}`,
    LLM_BASE_URL: `http://${outside}/${marked('LLM_BASE_URL')}`,
    LLM_API_KEY: marked('LLM_API_KEY'),
    LLM_MODEL: 'gpt',
    X402_PAY_TO: PAY_TO,
    X402_RPC_URL: `http://${outside}/${marked('X402_RPC_URL')}`,
    X402_FACILITATOR_URL: `http://${outside}/facilitator`,
    X402_FACILITATOR_TOKEN: marked('X402_FACILITATOR_TOKEN'),
  })
  base = service.url
}, 60_000)
afterAll(async () => {
  await service?.stop()
  service?.remove()
  outsider.close()
  outsider.closeAllConnections()
  await new Promise<void>((resolve) => mail.close(() => resolve()))
  rmSync(folder, { recursive: true, force: true })
})

interface Asked {
  readonly method?: string
  readonly bearer?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

async function ask(path: string, { method, bearer, headers, body }: Asked = {}): Promise<Answer> {
  const verb = method ?? (body === undefined ? 'GET' : 'POST')
  const isForm = body instanceof URLSearchParams
  const response = await fetch(base + path, {
    method: verb,
    redirect: 'manual',
    headers: {
      'x-forwarded-for': CLIENT_ADDRESS,
      'user-agent': marked('user agent'),
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' || isForm ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  })
  const text = await response.text()
  const answer = {
    asked: `${verb} ${path}`,
    status: response.status,
    text: `${JSON.stringify([...response.headers])}\n${text}`,
    body: text,
  }
  answers.push(answer)
  return answer
}

const read = ({ asked, body, status }: Answer): Record<string, unknown> => {
  expect(status, `${asked}: ${body}`).toBeLessThan(400)
  return JSON.parse(body) as Record<string, unknown>
}

const newestCode = async (count: number): Promise<string> => {
  while (mails.length < count) await delay(20)
  const [code] = /\b[0-9A-Z]{5}-[0-9A-Z]{5}\b/.exec(mails.at(-1) ?? '') ?? expect.fail('no code was mailed')
  return note('code of a sign-in', code)
}

/** Signs in, once in vain. @returns the key */
async function signIn(): Promise<string> {
  doesMailRefuse = true
  await ask('/api/sign-in', { body: { email: EMAIL } })
  await delay(300)
  doesMailRefuse = false
  await ask('/api/sign-in', { body: { email: EMAIL } })
  const code = await newestCode(1)
  await ask('/api/sign-in/confirm', { body: { email: EMAIL, code: '00000-00000' } })
  await ask('/api/sign-in/confirm', { body: { email: EMAIL, code, label: `${LABEL}\u0000` } })
  const { key } = read(await ask('/api/sign-in/confirm', { body: { email: EMAIL, code, label: LABEL } }))
  return note('key of a sign-in', key)
}

const toolCall = { jsonrpc: '2.0', id: 1, method: 'tools/call' }
const verdictCall = {
  ...toolCall,
  params: { name: 'get_trade_call', arguments: { coin: 'BTC', timeframe: '1h' } },
}

async function useKeys(key: string): Promise<void> {
  const { key: second, key_id: id } = read(await ask('/api/keys', { bearer: key, body: { label: LABEL } }))
  note('second key', second)
  await ask('/mcp', { bearer: key, body: verdictCall })
  await ask('/mcp', { bearer: `${key}x`, body: verdictCall })
  await ask('/mcp', { bearer: key, body: `{"jsonrpc": "2.0", "${key}` })
  await ask('/api/account', { headers: { authorization: `Basic ${key}` } })
  await ask(`/api/account?key=${key}`, { bearer: key })
  for (const path of ['/api/account', '/api/keys', '/api/usage', '/api/payments'])
    await ask(path, { bearer: key })
  await ask(`/api/keys/${String(id)}`, { method: 'DELETE', bearer: key })
  await ask('/api/account', { bearer: String(second) })
  await ask('/api/chat', { bearer: key, body: { question: QUESTION } })
  await ask('/api/chat', { bearer: key, body: { question: [QUESTION] } })
  await ask('/api/search', { body: { query: QUESTION } })
}

async function useApps(key: string): Promise<void> {
  await ask('/api/apps', { bearer: key })
  const askFor = (change: Record<string, string>) =>
    ask('/oauth/token', { body: new URLSearchParams({ client_id: 'https://no.example/client', ...change }) })
  await askFor({ grant_type: 'refresh_token', refresh_token: key })
  await askFor({ grant_type: 'authorization_code', code: key, client_secret: key })
  await ask(
    '/oauth/authorize?' +
      new URLSearchParams({ client_id: 'https://no.example/client', state: marked('state') }),
  )
  await ask('/oauth/revoke', { body: new URLSearchParams({ token: key, client_secret: key }) })
}

async function useWebhooks(key: string): Promise<void> {
  const url = `http://${outside}/hook/${marked('path')}?token=${marked('path')}`
  const events = ['trade_call', 'regime_shift']
  const make = (body: object) => ask('/api/webhooks', { bearer: key, body })
  const { id, secret } = read(await make({ url, events }))
  note('secret of a webhook', secret)
  const one = `/api/webhooks/${String(id)}`
  await make({ url: `https://u:${marked('path')}@example.com/`, events })
  await make({ url: `ftp://example.com/${marked('path')}`, events })
  await make({ url, events: ['no_such_event'] })
  await ask(`${one}/test`, { bearer: key, body: {} })
  note('next secret of a webhook', read(await ask(`${one}/rotate-secret`, { bearer: key, body: {} })).secret)
  for (const what of ['pause', 'resume']) await ask(`${one}/${what}`, { bearer: key, body: {} })
  await ask(`${one}/recover`, {
    bearer: key,
    body: { since: new Date(Date.now() - 3_600_000).toISOString() },
  })
  for (const path of ['/api/webhooks', one, `${one}/deliveries`, `${one}/retries`, `${one}/events`])
    await ask(path, { bearer: key })
  const stop = { reason: 'complaints' }
  for (const path of ['/operator/webhooks', `/operator/webhooks/${String(id)}`])
    await ask(path, { headers: asOperator })
  await ask(`/operator/webhooks/${String(id)}/stop`, { headers: asOperator, body: stop })
  await make({ url, events })
}

/** Signs in on a page, and looks at all of them. */
async function usePages(): Promise<void> {
  const form = (path: string, fields: Record<string, string>, cookie = '') =>
    ask(path, {
      headers: { origin: base, accept: 'text/html', cookie },
      body: new URLSearchParams(fields),
    })
  await form('/account/sign-in', { email: EMAIL })
  const code = await newestCode(2)
  await form('/account/confirm', { email: EMAIL, code: 'AAAAA-AAAAA' })
  const { text } = await form('/account/confirm', { email: EMAIL, code })
  const [cookie = ''] = /\b[\w-]+=ses_\w+/.exec(text) ?? expect.fail(`no session: ${text}`)
  note('session', cookie.slice(cookie.indexOf('=') + 1))
  const headers = { cookie, accept: 'text/html' }
  for (const path of ['/account', '/webhooks', '/webhooks/new', '/', '/nowhere', '/webhooks/7'])
    await ask(path, { headers })
  await ask('/account/keys', {
    headers: { ...headers, origin: 'https://evil.example' },
    body: new URLSearchParams({ label: LABEL }),
  })
  await form('/webhooks', { url: `https://${marked('path')}.localhost/`, events: 'trade_call' }, cookie)
  await form('/account/sign-out', {}, cookie)
}

/** Pays, with signatures that are good, bad, and for too little; the node knows nobody. */
async function pay(): Promise<void> {
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + 600)
  for (const value of [20_000n, 1n]) {
    const signed = await signAuthorization(PAYER, { payTo: PAY_TO, value, validBefore })
    handedOut.push({ name: 'signature of a payer', value: signed.signature.slice(2) })
    const payment = encoded(paymentV2({ ...signed, rail: 'direct' }, signed.signature))
    for (const header of [payment, payment.slice(0, -20), `${payment}AAAA`]) {
      await ask('/x402/get_trade_call', {
        headers: { 'payment-signature': header },
        body: { coin: 'BTC', timeframe: '1h' },
      })
      await ask('/x402/get_trade_call', {
        headers: { 'x-payment': header },
        body: { coin: 'BTC', timeframe: '7h' },
      })
    }
  }
}

const UUID = '01a202d9-8383-7ecf-bcf0-c37504ba4724'

/** Each operation of the interface as a stranger asks it, with words of others in it. */
async function walkAsStranger(key: string): Promise<number> {
  const { paths } = read(await ask('/openapi.json')) as { paths: Record<string, object> }
  let walked = 0
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
      if (path.endsWith('/stream') || path === '/api/account') continue
      const body = method === 'GET' ? undefined : { email: [EMAIL], url: [marked('path')], token: key }
      const place = path.replaceAll(/\{[^}]+\}/g, UUID)
      await ask(place, { method, bearer: `${key}0`, body })
      walked += 1
    }
  }
  return walked
}

/** Answers that may hold a secret, since they go to its owner. */
const OWN: readonly (readonly [RegExp, RegExp])[] = [
  [/^POST \/api\/sign-in\/confirm$/, /^key of|^label|^e-mail/],
  [/^(?:GET|POST) \/api\/(?:keys|account)/, /^label|^e-mail|^second key/],
  [/^POST \/api\/chat$/, /^question/],
  [/^GET \/operator\/accounts$/, /^e-mail/],
  [/^(?:GET|POST|PATCH) \/api\/webhooks/, /webhook|chat|receiver/],
  [/^(?:GET|POST) \/(?:account|webhooks)/, /^e-mail|^label|^session|webhook|chat|receiver|^second key/],
]
const isOwn = ({ asked, status }: Answer, name: string): boolean =>
  (status < 400 || /^\w+ \/(?:account|webhooks)\b/.test(asked)) &&
  OWN.some(([path, names]) => path.test(asked) && names.test(name))

describe('a service that is used, badly used and let down by others', () => {
  let everybody: Canary[]
  let metrics: string
  let outputs: string

  test('is walked through', { timeout: 90_000 }, async () => {
    const key = await signIn()
    await useKeys(key)
    await useApps(key)
    await useWebhooks(key)
    await usePages()
    await pay()
    expect(await walkAsStranger(key)).toBeGreaterThan(60)
    await expect.poll(() => deliveries, { timeout: 30_000 }).toBeGreaterThan(0)
    // The stranger has used up what an address may ask in a second.
    await delay(1_100)
    metrics = (await ask('/metrics', { headers: asOperator })).body
    await ask('/readyz', { headers: asOperator })
    for (const path of ['/operator/keys', '/operator/accounts', '/operator/payments'])
      await ask(path, { headers: asOperator })
    const environment = {
      SEALING_KEY: SEALING.toString('base64'),
      WRAPPING_KEYS: WRAPPING.toString('base64'),
    }
    const backingUp = ['backup', join(folder, 'backup'), '--data-dir', service.dataDirectory]
    const { written: backup, done } = beginSignal(backingUp, { environment })
    expect(await done).toBe(0)
    expect(await service.stop()).toBe(0)
    outputs = `${service.log()}\n${service.output()}\n${backup.said}`
    everybody = [...secretCanaries, ...personal, ...handedOut]
    expect(service.log().split('\n').length).toBeGreaterThan(5)
  })

  test('writes nothing of it to its log or its terminal', () => {
    expect(foundIn('output', outputs, everybody)).toEqual([])
  })

  test('counts nothing by it', () => {
    expect(metrics).toMatch(/^http_server_request_duration_seconds_count/m)
    expect(foundIn('metrics', metrics, everybody)).toEqual([])
  })

  test('keeps it sealed, hashed or not at all, in every file and in the backup', async () => {
    // A claim holds the signature that it is settled by; it moves this amount to this service, and can do nothing else.
    const kept = everybody.filter(({ name }) => name !== 'signature of a payer')
    const files = [...filesBelow(service.dataDirectory), ...filesBelow(folder)]
    expect(files.map(({ path }) => basename(path))).toEqual(
      expect.arrayContaining(['events.db', 'projections.db', 'backup.json']),
    )
    expect(files.flatMap(({ path, bytes }) => foundIn(path, bytes, kept))).toEqual([])
    const store = await openEmbeddedStore({
      directory: join(service.dataDirectory, 'simulated'),
      now: Date.now,
    })
    const types = new Set<string>()
    const found: string[] = []
    for await (const event of store.readAll()) {
      types.add(event.type)
      found.push(...foundIn(`${event.type} of ${event.stream}`, JSON.stringify(event), kept))
    }
    await store.close()
    expect(found).toEqual([])
    expect([...types]).toEqual(
      expect.arrayContaining([
        'AccountOpened',
        'KeyIssued',
        'SubscriptionCreated',
        'DeliveriesAttempted',
        'QuotaDebited',
      ]),
    )
  })

  test('answers with it to nobody but its owner, and in no refusal', () => {
    const found = answers.flatMap((answer) =>
      foundIn(
        `${answer.asked} ${answer.status}`,
        answer.text,
        everybody.filter(({ name }) => !isOwn(answer, name)),
      ),
    )
    expect(found).toEqual([])
    expect(answers.filter(({ status }) => status >= 400).length).toBeGreaterThan(50)
    expect(answers.filter(({ status }) => status === 500).map(({ asked }) => asked)).toEqual([])
  })
})

describe('a start that fails, or that nobody outside answers', () => {
  /** Settings that name somebody else, who is not there or refuses everything. */
  const away: readonly (readonly [SettingName, () => NodeJS.ProcessEnv])[] = [
    ['REDIS_URL', () => ({ REDIS_URL: `redis://signals:${marked('REDIS_URL')}@127.0.0.1:9` })],
    ['NATS_URL', () => ({ NATS_URL: `nats://signals:${marked('NATS_URL')}@127.0.0.1:9` })],
    [
      'EVENTSTORE_URL',
      () => ({
        EVENTSTORE_URL: `esdb://signals:${marked('EVENTSTORE_URL')}@127.0.0.1:9?tls=false`,
        STORE_WAIT: '1',
      }),
    ],
    [
      'VENUE_URLS',
      () => ({
        MARKET: 'live',
        EXCHANGES: 'BINANCE',
        VENUE_URLS: `BINANCE=http://${outside}/${marked('VENUE_URLS')}`,
      }),
    ],
    [
      'X402_FACILITATOR_TOKEN',
      () => ({ ...facilitated(), X402_FACILITATOR_TOKEN: marked('X402_FACILITATOR_TOKEN') }),
    ],
    [
      'X402_CDP_KEY',
      () => ({
        ...facilitated(),
        X402_CDP_KEY: `id:${Buffer.from(marked('X402_CDP_KEY')).toString('base64')}`,
      }),
    ],
  ]
  const facilitated = () => ({ X402_PAY_TO: PAY_TO, X402_FACILITATOR_URL: `http://${outside}/x402` })

  test.each(away)('tells nothing of %s', async (_name, environment) => {
    const told = await startServiceProcess({ ...common(), ...environment() }).then(
      async (started) => {
        base = started.url
        const first = answers.length
        await ask('/readyz', { headers: asOperator })
        await ask('/metrics', { headers: asOperator })
        await ask('/mcp', { body: verdictCall })
        await pay()
        await started.stop()
        started.remove()
        const answered = answers.slice(first).map(({ text }) => text)
        return `${started.log()}${started.output()}${answered.join('')}`
      },
      (error: unknown) => String(error),
    )
    expect(told.length).toBeGreaterThan(100)
    expect(foundIn('output', told, secretCanaries)).toEqual([])
  })

  test.each(Object.keys(SECRETS) as SettingName[])(
    'refuses a %s that cannot be used without showing it',
    (name) => {
      const value = `${marked(name)}\u0000 `.repeat(300)
      const refusal = (work: () => unknown): string => {
        try {
          return JSON.stringify(work()) && ''
        } catch (error) {
          return String(error)
        }
      }
      const { flag } = SETTINGS[name]
      const told = [
        () => readSettings([], { [name]: value }),
        () => readSettings([`--${flag}`, value], {}),
      ].map(refusal)
      expect(foundIn('refusal', told.join(''), secretCanaries)).toEqual([])
    },
  )
})

test('a program that is let in leaves neither code nor token in the log, nor in a refusal', async () => {
  const oauth = await startOAuthService()
  const refusals: string[] = []
  const canaries: Canary[] = [{ name: 'e-mail address', value: marked('e-mail') }]
  try {
    const letIn = await new Browser(oauth).letIn(asking(oauth.url), EMAIL)
    const code = letIn.searchParams.get('code') ?? expect.fail(`no code: ${letIn.href}`)
    canaries.push({ name: 'sign-in code', value: oauth.world.codeFor(EMAIL) }, { name: 'code', value: code })
    const token = async (parameters: Readonly<Record<string, string>>): Promise<string> => {
      const { status, body } = await askTokens(oauth.url, parameters)
      if (status >= 400) refusals.push(JSON.stringify(body))
      for (const name of ['access_token', 'refresh_token'])
        if (body[name] !== undefined) canaries.push({ name, value: body[name] })
      return body.refresh_token ?? ''
    }
    await token(exchanging(code, { code_verifier: 'w'.repeat(43) }))
    const again = await new Browser(oauth).letIn(asking(oauth.url), EMAIL)
    const second = again.searchParams.get('code') ?? ''
    canaries.push({ name: 'second code', value: second })
    const first = await token(exchanging(second))
    const refresh = { grant_type: 'refresh_token', refresh_token: first, client_id: CLIENT_ID }
    await token({ ...refresh, scope: first })
    await token(refresh)
    await token(refresh)
    await token(exchanging(second))
    expect(canaries.length).toBeGreaterThan(6)
    expect(refusals.length).toBeGreaterThan(2)
    const written = `${oauth.world.text()}${oauth.world.reports.join('')}`
    expect(foundIn('log', written, canaries)).toEqual([])
    expect(foundIn('refusals', refusals.join(''), canaries)).toEqual([])
  } finally {
    await oauth.stop()
  }
})

test('every secret setting is looked for', () => {
  const secret = Object.entries(SETTINGS).filter(
    ([, setting]) => (setting as { isSecret?: boolean }).isSecret,
  )
  expect(Object.keys(SECRETS).toSorted()).toEqual(secret.map(([name]) => name).toSorted())
})

test('what is looked for is found, in whatever form and wherever it begins', () => {
  const value = marked('x')
  for (const before of ['', 'a', 'ab', 'abc'])
    for (const after of ['', 'z', 'zz'])
      for (const form of ['base64', 'base64url', 'hex'] as const)
        expect(
          foundIn('text', Buffer.from(before + value + after).toString(form), [{ name: 'x', value }]),
        ).toHaveLength(1)
  const odd = { name: 'odd', value: 'a"b&c/d e' }
  for (const text of [odd.value, JSON.stringify(odd), encodeURIComponent(odd.value)])
    expect(foundIn('text', text, [odd])).toHaveLength(1)
  expect(formsOf(SEALING).some((form) => SEALING.toString('base64').includes(form.toString()))).toBe(true)
  expect(foundIn('text', marked('y'), [{ name: 'x', value }])).toEqual([])
})
