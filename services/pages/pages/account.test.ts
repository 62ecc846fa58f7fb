import type { FastifyInstance, InjectOptions } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { Accounts, AccountView } from '../../accounts/index.ts'
import { createServer } from '../../composition/server.ts'
import { NO_READ_MODELS } from '../../http/testing/no-read-models.ts'
import { serverOptions } from '../../http/testing/server-options.fixture.ts'

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const KEY_ID = '019abcde-7c00-7001-8000-00000000000a'
const KEY = 'sk_live_abcd1234'
const SECRET = 'ses_abcd1234'
const SESSION_ID = '019abcde-7c00-7001-8000-0000000000d1'
const HOSTILE = '"><script>alert(1)</script>'
const QUOTA = { remaining: 3, limit: 200, used: 197, resets_at: '2026-12-01T00:00:00.000Z', daily: null }
const view = (): AccountView => ({
  accountId: ACCOUNT,
  email: 'ada@example.com',
  tier: 'free',
  openedAt: 0,
  plan: undefined,
  nextPlans: [],
  keys: [
    { keyId: KEY_ID, hint: 'sk_live_abcd…', label: 'bot', issuedAt: 0 },
    { keyId: ACCOUNT, hint: 'sk_live_zzzz…', label: HOSTILE, issuedAt: 0 },
  ],
  payer: { id: ACCOUNT, tier: 'free', window: { id: '2026-11', from: 0, to: 1 } },
})

let app: FastifyInstance
let done: unknown[][]
let refuse: ServiceError | undefined
let publicUrl: string
let hasNoMail: boolean

const doing =
  <Answer>(name: string, answer: Answer) =>
  async (...given: unknown[]): Promise<Answer> => {
    done.push([name, ...given])
    if (refuse !== undefined) throw refuse
    return answer
  }

beforeEach(async () => {
  done = []
  refuse = undefined
  publicUrl = 'https://signals.example.com'
  hasNoMail = false
  app = await start()
})
afterEach(() => app.close())

async function start(): Promise<FastifyInstance> {
  const issued = {
    key: KEY,
    keyId: KEY_ID,
    hint: 'sk_live_abcd…',
    label: 'bot',
    accountId: ACCOUNT,
    tier: 'free' as const,
  }
  const accounts = {
    identify: async (authorization: string | undefined) =>
      authorization === `Session ${SECRET}`
        ? {
            outcome: 'OK',
            accountId: ACCOUNT,
            keyId: SESSION_ID,
            isSession: true,
            tier: 'free',
            window: { id: '2026-11', from: 0, to: 1 },
          }
        : { outcome: authorization === undefined ? 'ABSENT' : 'UNKNOWN' },
    hasNoMail,
    requestSignIn: doing('requestSignIn', KEY_ID),
    beginSession: doing('beginSession', { secret: SECRET, accountId: ACCOUNT }),
    endSessions: doing('endSessions', undefined),
    show: async () => view(),
    issueKey: doing('issueKey', issued),
    revokeKey: doing('revokeKey', undefined),
    erase: doing('erase', undefined),
  } as unknown as Accounts
  Object.assign(accounts, { oauth: { apps: async () => [] } })
  const attempts = { take: async () => undefined }
  return createServer(
    serverOptions({
      ...NO_READ_MODELS,
      publicUrl: () => publicUrl,
      usage: async () => ({
        tier: 'free',
        window: { id: '2026-11', from: '2026-11-01T00:00:00.000Z', to: '2026-12-01T00:00:00.000Z' },
        quota: QUOTA,
        days: [{ day: '2026-11-20', calls: 3, tools: { get_trade_call: 3 } }],
        debits: [],
        next: null,
      }),
      accounts: {
        accounts,
        quotaOf: async () => QUOTA,
        signInRequests: attempts,
        signInTries: attempts,
        clientDocuments: attempts,
      },
    }),
  )
}

const HOST = { host: 'signals.example.com', accept: 'text/html' }
const cookie = `other=1; __Host-session=${SECRET}`
const get = (url: string, headers = {}) => app.inject({ url, headers: { ...HOST, ...headers } })
const post = (url: string, fields: Record<string, string>, headers: InjectOptions['headers'] = {}) =>
  app.inject({
    method: 'POST',
    url,
    payload: new URLSearchParams(fields).toString(),
    headers: {
      ...HOST,
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'https://signals.example.com',
      ...headers,
    },
  })

/** The page that a form leads on to, with the note that it left. */
const follow = ({ headers }: Awaited<ReturnType<typeof post>>, session = '') => {
  const left = [headers['set-cookie']].flat().map((one) => String(one).split(';')[0])
  return get(String(headers.location), { cookie: [session, ...left].join('; ') })
}

test('a code begins a session that only this host is sent and no script reads', async () => {
  const asked = await post('/account/sign-in', { email: ' ada@example.com ' })
  expect([asked.statusCode, asked.headers.location]).toEqual([303, '/account/code'])
  // Loaded again, the page is the same, and no further code is made.
  for (let n = 0; n < 2; n++)
    expect((await follow(asked)).body).toContain(`name="sign_in_id" value="${KEY_ID}"`)
  expect(done).toHaveLength(1)
  expect(done[0]).toEqual([
    'requestSignIn',
    { email: 'ada@example.com', client: '127.0.0.1' },
    expect.anything(),
  ])
  const confirmed = await post('/account/confirm', {
    email: 'ada@example.com',
    code: 'x',
    sign_in_id: KEY_ID,
  })
  expect(confirmed.statusCode).toBe(303)
  expect(confirmed.headers['set-cookie']).toEqual([
    '__Host-note=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax',
    `__Host-session=${SECRET}; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Lax`,
  ])
  const page = await get('/account?fbclid=abc', { cookie })
  expect(page.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'same-origin' })
  expect(page.body).toMatch(/since <time[^>]*>1970-01-01<\/time> UTC.*Sign out everywhere/s)
  expect(page.body).toContain('&quot;&gt;&lt;script&gt;')
  expect(page.body).not.toContain('<script>')
})

describe('without a mail server', () => {
  test.each(['localhost:8402', '127.0.0.1:8402', 'signals.example.com'])(
    'the page sends a visitor of %s to the terminal of the service',
    async (host) => {
      hasNoMail = true
      await app.close()
      app = await start()
      const headers = { host, origin: `http://${host}` }
      const page = await follow(await post('/account/sign-in', { email: 'ada@example.com' }, headers))
      expect(page.statusCode).toBe(200)
      expect(page.body).toContain('stands in the terminal')
      expect(page.headers['cache-control']).toBe('no-store')
    },
  )

  test('and with one to the mail', async () => {
    const page = await follow(await post('/account/sign-in', { email: 'ada@example.com' }))
    expect(page.body).toContain('If a code can be sent to ada@example.com')
    expect(page.body).not.toContain('terminal')
  })
})

test.each(['/account/sign-in', '/account/confirm', '/account/code'])(
  '%s, opened from history, leads to the account',
  async (path) => {
    const { statusCode, headers } = await get(path, { cookie: '__Host-note=bm90IEpTT04' })
    expect([statusCode, headers.location]).toEqual([303, '/account'])
  },
)

test.each([
  ['/webhooks', '/webhooks'],
  ['/webhooks/new', '/webhooks/new'],
  ['/webhooks/x?after=1', '/webhooks/x?after=1'],
  ['/webhooksevil', undefined],
  ['//evil.example/webhooks', undefined],
  ['https://evil.example/webhooks', undefined],
  ['/webhooks\r\nset-cookie: a=b', undefined],
])('a sign-in for %j leads on to %j', async (wanted, onward) => {
  const asked = await follow(await post('/account/sign-in', { email: 'a@b.c', return_to: wanted }))
  expect(asked.body.includes('name="return_to"')).toBe(onward !== undefined)
  const confirmed = await post('/account/confirm', { email: 'a@b.c', code: 'x', return_to: wanted })
  const location = confirmed.headers.location ?? ''
  const kept = await get(location, { cookie })
  expect(kept.headers.location).toBe(onward)
  // Where the browser did not keep the session, the page says so instead of asking in a circle.
  expect((await get(location)).body).toContain('did not keep the session')
})

test('a wrong code is refused at its form, with what was typed kept', async () => {
  refuse = new ServiceError('sign_in_refused')
  const refused = await post('/account/confirm', { email: HOSTILE, code: `${HOSTILE}7`, sign_in_id: KEY_ID })
  expect(refused.statusCode).toBe(401)
  expect(refused.body).toContain(`value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;7"`)
  expect(refused.body).toContain('role="alert"')
  expect(refused.body).toMatch(/id="code"[^>]* aria-invalid="true" autofocus/)
  expect(refused.body).not.toContain('<script>')
  refuse = new ServiceError('rate_limited', { message: 'Too many codes.' })
  expect((await post('/account/sign-in', { email: 'a@b.c' })).body).toContain('Too many codes.')
})

test.each([
  ['that has ended', 'ses_gone'],
  ['that never was one', 'sk_live_gone'],
])('a session %s leads to a sign-in that says so', async (_name, secret) => {
  const page = await get('/account', { cookie: `__Host-session=${secret}` })
  expect(page.body).toContain('Your session has ended')
  expect(page.headers['set-cookie']).toContain('Max-Age=0')
})

test.each([
  ['another site', { origin: 'https://evil.example' }],
  ['nowhere', { origin: 'null' }],
  ['what does not say', { origin: undefined }],
  ['another port', { origin: 'https://signals.example.com:8443' }],
])('a form of %s does nothing', async (_name, headers) => {
  for (const path of [
    '/account/erase',
    '/account/keys',
    '/account/keys/revoke',
    '/account/sessions/end',
    '/account/sign-out',
    '/account/sign-in',
    '/account/confirm',
  ]) {
    const given = Object.fromEntries(
      Object.entries({ cookie, ...headers }).filter(([, value]) => value !== undefined),
    ) as Record<string, string>
    const answer = await app.inject({
      method: 'POST',
      url: path,
      payload: 'confirm=ERASE',
      headers: { ...HOST, 'content-type': 'application/x-www-form-urlencoded', ...given },
    })
    expect([path, answer.statusCode]).toEqual([path, 403])
  }
  expect(done).toEqual([])
})

test('keys are made, shown once, and revoked; sessions end all at once, and this one by signing out', async () => {
  const left = await post('/account/keys', { label: 'bot' }, { cookie })
  const failed = await get('/account?after=!', { cookie: `${cookie}; ${String(left.headers['set-cookie'])}` })
  expect([failed.statusCode, failed.headers['set-cookie']]).toEqual([400, undefined])
  const made = await follow(left, cookie)
  expect(made.body).toContain(KEY)
  expect(made.headers['set-cookie']).toContain('__Host-note=; Path=/; Max-Age=0')
  expect((await get('/account', { cookie })).body).not.toContain(KEY)
  expect((await post('/account/keys/revoke', { id: ACCOUNT }, { cookie })).statusCode).toBe(303)
  const all = await post('/account/sessions/end', {}, { cookie })
  expect([all.statusCode, all.headers['set-cookie']]).toEqual([303, expect.stringContaining('Max-Age=0')])
  const out = await post('/account/sign-out', {}, { cookie })
  expect(out.headers['set-cookie']).toContain('Max-Age=0')
  expect(done.map(([name, , id]) => [name, id])).toEqual([
    ['issueKey', 'bot'],
    ['revokeKey', ACCOUNT],
    ['endSessions', expect.anything()],
  ])
})

test('a session means nothing to programs, and a key nothing to pages', async () => {
  const ask = (authorization: string) =>
    app.inject({ url: '/api/account', headers: { accept: 'application/json', authorization } })
  for (const spelling of [`Session ${SECRET}`, `session ${SECRET}`]) {
    const refused = await ask(spelling)
    expect([refused.statusCode, refused.json().code]).toEqual([401, 'unauthorized'])
  }
  expect((await ask(`Bearer ${SECRET}`)).statusCode).toBe(401)
  const forged = { authorization: `Session ${SECRET}`, 'x-own-request': 'guessed' }
  expect((await app.inject({ url: '/api/account', headers: forged })).statusCode).toBe(401)
  expect((await app.inject({ url: '/api/account', headers: { cookie } })).statusCode).toBe(401)
})

test('signing out with a session that has ended already clears the cookie', async () => {
  const out = await post('/account/sign-out', {}, { cookie: '__Host-session=ses_gone' })
  expect([out.statusCode, out.headers['set-cookie']]).toEqual([303, expect.stringContaining('Max-Age=0')])
})

test('an account is erased only by the word', async () => {
  const not = await post('/account/erase', { confirm: 'erase' }, { cookie })
  expect([not.statusCode, done]).toEqual([400, []])
  expect(not.body).toContain('aria-invalid="true"')
  const gone = await post('/account/erase', { confirm: 'ERASE' }, { cookie })
  expect([gone.statusCode, gone.headers['set-cookie']]).toEqual([303, expect.stringContaining('Max-Age=0')])
  expect((await get(String(gone.headers.location))).body).toContain('The account is erased')
  expect(done.map(([name]) => name)).toEqual(['erase'])
})

test('what is not there is a page to people and JSON to programs, and says what to do', async () => {
  const page = await get('/nowhere/<b>')
  expect(page.statusCode).toBe(404)
  expect(page.body).toContain('There is nothing here')
  expect(page.headers['content-security-policy']).toContain("script-src 'self'")
  expect((await app.inject('/nowhere')).json()).toMatchObject({ code: 'not_found' })
  expect((await post('/api/sign-in', { email: 'a@b.c' })).statusCode).toBe(415)
})
