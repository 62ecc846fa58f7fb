import { afterEach, beforeEach, expect, test } from 'vitest'
import { aWebhookEdge, URL, type WebhookEdge } from '../../http/testing/webhook-edge.fixture.ts'

const HOSTILE = '</pre><script>alert(1)</script>'
let edge: WebhookEdge
beforeEach(async () => {
  edge = await aWebhookEdge({
    sender: {
      send: async () => ({
        kind: 'answered',
        status: 500,
        retryAfterMs: undefined,
        durationMs: 7,
        detail: HOSTILE,
      }),
      close: async () => undefined,
    },
  })
})
afterEach(() => edge.close())

const HOST = { host: 'signals.example.com', accept: 'text/html' }
const own = () => ({
  ...HOST,
  cookie: `__Host-session=${edge.session}`,
  origin: 'https://signals.example.com',
})
const get = (url: string, headers = own() as Record<string, string>) => edge.app.inject({ url, headers })
const encoded = (fields: readonly (readonly [string, string])[]): string =>
  fields.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')

const post = (
  url: string,
  fields: readonly (readonly [string, string])[],
  headers: Record<string, string> = {},
) =>
  edge.app.inject({
    method: 'POST',
    url,
    payload: encoded(fields),
    headers: { ...own(), 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
/** The page that a form leads on to, with the note that it left. */
const follow = ({ headers }: Awaited<ReturnType<typeof post>>) => {
  const [left] = String(headers['set-cookie']).split(';')
  return get(String(headers.location), { ...own(), cookie: `${own().cookie}; ${left}` })
}
const listed = async () => (await edge.ask('GET', '/api/webhooks')).body.webhooks as { id: string }[]
const create = (...more: (readonly [string, string])[]) =>
  post('/webhooks', [['url', URL], ['events', 'trade_call'], ...more])

test('who is not signed in is asked to, and what another site sends does nothing', async () => {
  const page = await get('/webhooks', HOST)
  expect(page.body).toMatch(/<h1>Webhooks<.*tried again.*name="return_to" value="\/webhooks"/s)
  expect(page.body).toContain('action="/account/sign-in"')
  expect((await post('/webhooks', [['url', URL]], { origin: 'https://evil.example' })).statusCode).toBe(403)
  expect((await get('/webhooks')).body).toContain('There is none yet')
})

test('a webhook is made by the form as by the interface, and its secret shown once', async () => {
  const made = await create(
    ['timeframes', '1h'],
    ['timeframes', '4h'],
    ['assets', 'BTC, top:10'],
    ['min_confidence', '52'],
    ['only_changes', 'true'],
    ['max_per_second', '7'],
    ['in_order', 'true'],
  )
  expect(made.statusCode).toBe(303)
  const noted = { ...own(), cookie: `${own().cookie}; ${String(made.headers['set-cookie'])}` }
  const failed = await get(`${String(made.headers.location)}?result=lost`, noted)
  expect([failed.statusCode, failed.headers['set-cookie']]).toEqual([400, undefined])
  const [secret] = /whsec_[A-Za-z0-9+/=]+/.exec((await follow(made)).body) ?? []
  expect(secret).toBeDefined()
  const webhooks = await listed()
  expect(webhooks).toMatchObject([
    {
      url: URL,
      timeframes: ['1h', '4h'],
      assets: ['BTC', 'top:10'],
      min_confidence: 52,
      only_changes: true,
      max_per_second: 7,
      in_order: true,
    },
  ])
  const id = webhooks[0]?.id ?? ''
  const page = await get(`/webhooks/${id}`)
  expect(page.statusCode).toBe(200)
  expect(page.body).not.toContain(secret)
  expect((await get('/webhooks')).body).toContain(`href="/webhooks/${id}"`)
})

test('what the interface refuses is refused at its field, with what was typed kept', async () => {
  const refused = await post('/webhooks', [
    ['url', 'http://10.0.0.1/'],
    ['events', 'trade_call'],
    ['assets', HOSTILE],
    ['min_confidence', 'many'],
  ])
  expect(refused.statusCode).toBe(400)
  expect(refused.body).toMatch(/id="assets-fault">[^<]*neither a coin symbol/)
  expect(refused.body).toMatch(/id="min_confidence-fault">[^<]*not a whole number/)
  expect(refused.body).toContain('value="http://10.0.0.1/"')
  expect(refused.body).not.toContain('<script>')
  const url = await post('/webhooks', [
    ['url', 'http://10.0.0.1/'],
    ['events', 'trade_call'],
  ])
  expect(url.body).toMatch(/id="url-fault"/)
})

test('buttons do what they say, and what an endpoint answers is text', async () => {
  await create()
  const path = `/webhooks/${(await listed())[0]?.id}`
  const tested = await follow(await post(`${path}/test`, []))
  expect(tested.body).toContain('&lt;/pre&gt;&lt;script&gt;')
  expect(tested.body).not.toContain('<script>')
  expect((await post(`${path}/pause`, [])).statusCode).toBe(303)
  expect((await get(path)).body).toContain('Resume where it stopped')
  expect((await post(`${path}/resume`, [['from', 'now']])).statusCode).toBe(303)
  expect((await follow(await post(`${path}/rotate`, []))).body).toMatch(/whsec_/)
  const changed = await post(`${path}/change`, [
    ['url', 'https://bot.example.com/other'],
    ['max_per_second', '5'],
  ])
  expect(changed.statusCode).toBe(303)
  expect((await get(path)).body).toMatch(/bot\.example\.com\/other.*name="max_per_second"[^>]* value="5"/s)
  const choices = async () => (await edge.ask('GET', `/api${path}`)).body
  expect(await choices()).toMatchObject({ max_per_second: 5, in_order: false })
  expect((await post(`${path}/change`, [['in_order', 'true']])).statusCode).toBe(303)
  expect(await choices()).toMatchObject({ max_per_second: null, in_order: true })
  expect((await get(path)).body).toContain('name="in_order" value="true" checked')
  expect((await post(`${path}/change`, [['max_per_second', 'many']])).body).toMatch(
    /id="max_per_second-fault">[^<]*not a whole number/,
  )
  expect((await post(`${path}/recover`, [['since', '2026-11-21T11:00']])).statusCode).toBe(303)
  const gone = await post(`${path}/delete`, [])
  expect([gone.statusCode, gone.headers.location]).toEqual([303, '/webhooks'])
})

test('attempts are shown by how they ended', async () => {
  await create()
  const path = `/webhooks/${(await listed())[0]?.id}`
  const all = await get(path)
  expect(all.body).toContain('No attempt was made yet')
  const sought = await get(`${path}?result=failed`)
  expect(sought.statusCode).toBe(200)
  expect(sought.body).toContain('There is no such attempt')
  expect(sought.body).toContain('<option value="failed" selected')
  expect((await get(`${path}?result=${encodeURIComponent(HOSTILE)}`)).statusCode).toBe(400)
})

test('what was given up is asked for by the form, which names what it does not take', async () => {
  const { id } = (await edge.create()).body as unknown as { id: string }
  const refused = await post(`/webhooks/${id}/recover`, [['since', 'yesterday']])
  expect(refused.statusCode).toBe(400)
  expect(refused.body).toContain('value="yesterday"')
  expect(refused.body).toMatch(/id="since-fault"/)
})

test('the list is filtered by its address', async () => {
  const { id } = (await edge.create()).body as unknown as { id: string }
  expect((await get('/webhooks?status=active')).body).toContain(`href="/webhooks/${id}"`)
  const none = (await get('/webhooks?status=disabled')).body
  expect(none).toMatch(/<option value="disabled" selected>.*There is none of these/s)
  expect((await get('/webhooks?status=broken')).statusCode).toBe(400)
})

test.each([
  [
    '/webhooks/new',
    [
      ['url', URL],
      ['events', 'scan_digest'],
    ],
    'events',
  ],
  [
    '/webhooks/new',
    [
      ['url', URL],
      ['events', 'trade_call'],
      ['min_strength', '101'],
    ],
    'min_strength',
  ],
  [
    '/webhooks/new',
    [
      ['url', ''],
      ['events', 'trade_call'],
    ],
    'url',
  ],
] as const)(
  'the form of %s with %j is refused, at %s where it has a field, and keeps what was typed',
  async (_from, fields, name) => {
    const refused = await post('/webhooks', fields)
    expect(refused.statusCode).toBe(400)
    expect(refused.body).toContain('role="alert"')
    if (name !== 'events') expect(refused.body).toMatch(new RegExp(`id="${name}-fault"`))
    for (const [field] of fields) {
      if (field === 'min_strength') expect(refused.body).toContain(`name="${field}"`)
    }
  },
)
