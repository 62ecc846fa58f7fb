import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { aWebhookEdge, NOBODYS, ORIGIN, URL, type WebhookEdge } from '../testing/webhook-edge.fixture.ts'

let edge: WebhookEdge

/** One service for all tests of a block: a request that is refused changes nothing that another would see. */
function onOneEdge(): void {
  beforeAll(async () => {
    edge = await aWebhookEdge()
  })
  afterAll(() => edge.close())
}

interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly payload?: object
}

describe('who asks', () => {
  onOneEdge()
  let id: string
  let issued = 0
  beforeAll(async () => {
    id = await edge.createId()
  })

  const routes: readonly Route[] = [
    { method: 'POST', path: '/api/webhooks', payload: { url: URL, events: ['trade_call'] } },
    { method: 'GET', path: '/api/webhooks' },
    { method: 'GET', path: `/api/webhooks/${NOBODYS}` },
    { method: 'PATCH', path: `/api/webhooks/${NOBODYS}`, payload: {} },
    { method: 'DELETE', path: `/api/webhooks/${NOBODYS}` },
    { method: 'POST', path: `/api/webhooks/${NOBODYS}/pause` },
    { method: 'POST', path: `/api/webhooks/${NOBODYS}/resume` },
    { method: 'POST', path: `/api/webhooks/${NOBODYS}/rotate-secret` },
    { method: 'POST', path: `/api/webhooks/${NOBODYS}/test` },
    {
      method: 'POST',
      path: `/api/webhooks/${NOBODYS}/recover`,
      payload: { since: '2026-01-01T00:00:00Z' },
    },
    { method: 'GET', path: `/api/webhooks/${NOBODYS}/deliveries` },
    { method: 'GET', path: `/api/webhooks/${NOBODYS}/retries` },
    { method: 'GET', path: `/api/webhooks/${NOBODYS}/events` },
  ]

  test.each(routes)('$method $path takes a key that applies', async ({ method, path, payload }) => {
    const of = async (as: string) => {
      const { status, body } = await edge.ask(method, path, { payload, as })
      return [status, body.code]
    }
    expect(await of('')).toEqual([401, 'unauthorized'])
    expect(await of('nonsense')).toEqual([401, 'unauthorized'])
    // Well-formed, and of no account.
    const unknown = await edge.issueKey(`eve${++issued}@example.com`)
    await edge.accounts.erase(unknown.accountId, ORIGIN)
    expect(await of(unknown.key)).toEqual([401, 'key_unknown'])
  })

  test.each(routes.filter(({ path }) => path.includes(NOBODYS)))(
    '$method $path of somebody else is not there',
    async ({ method, path, payload }) => {
      const { key } = await edge.issueKey(`bob${++issued}@example.com`)
      const { status, body } = await edge.ask(method, path.replace(NOBODYS, id), { payload, as: key })
      expect([status, body.code]).toEqual([404, 'not_found'])
    },
  )
})

test('one refusal names a wrong address and wrong events, and both where both are missing', async () => {
  const own = await aWebhookEdge()
  const fieldsOf = async (payload: object) => {
    const { body } = await own.ask('POST', '/api/webhooks', { payload })
    return [body.code, (body.details as { fields?: { field: string }[] }).fields?.map(({ field }) => field)]
  }
  expect(await fieldsOf({ url: 'bot.example.com', events: ['trade_cal'] })).toEqual([
    'invalid_request',
    ['events', 'url'],
  ])
  expect(await fieldsOf({})).toEqual(['invalid_request', ['url', 'events']])
  expect(await fieldsOf({ url: 'bot.example.com', events: ['trade_call'] })).toEqual([
    'url_refused',
    undefined,
  ])
  await own.close()
})

const DIGEST = { events: ['scan_digest'], timeframe: '1h', exchange: 'HL', top_n: 5, cadence: '1h' }

describe('a creation', () => {
  onOneEdge()

  test.each<readonly [string, unknown, string]>([
    ['url', undefined, 'url'],
    ['url', 7, 'url'],
    ['url', '', 'url'],
    ['url', `https://bot.example.com/${'x'.repeat(LIMITS.webhookUrlCharacters)}`, 'url'],
    ['events', undefined, 'events'],
    ['events', 'trade_call', 'events'],
    ['events', [], 'events'],
    ['events', ['trade_call', 'trade_call'], 'events'],
    ['events', ['trade_cal'], 'events'],
    ['events', [null], 'events'],
    ['timeframes', ['1h', '7m'], 'timeframes'],
    ['timeframes', [], 'timeframes'],
    ['timeframes', '1h', 'timeframes'],
    ['assets', ['BTC/USDT'], 'assets'],
    ['assets', ['top:0'], 'assets'],
    ['assets', ['top:101'], 'assets'],
    ['assets', ['top:5.5'], 'assets'],
    ['assets', ['top:05'], 'assets'],
    ['assets', ['BTC', 'BTC'], 'assets'],
    ['assets', Array.from({ length: LIMITS.subscriptionAssets + 1 }, (_, n) => `C${n}`), 'assets'],
    ['exchanges', ['NASDAQ'], 'exchanges'],
    ['min_confidence', -1, 'min_confidence'],
    ['min_confidence', 101, 'min_confidence'],
    ['min_confidence', 55.5, 'min_confidence'],
    ['min_confidence', '55', 'min_confidence'],
    ['min_strength', 101, 'min_strength'],
    ['only_changes', 'yes', 'only_changes'],
    ['timeframe', '1h', 'timeframe'],
    ['cadence', '1h', 'cadence'],
    ['top_n', 5, 'top_n'],
    ['start', 'yesterday', 'start'],
    ['start', '999999', 'start'],
    ['start', '2020-01-01', 'start'],
    ['start', 5, 'start'],
    ['interval', '1h', 'interval'],
    ['secret', 'whsec_mine', 'secret'],
  ])('with %s of %j is refused, and the field is named', async (field, value, named) => {
    const { status, body } = await edge.create({ [field]: value })
    expect([status, body.code]).toEqual([400, 'invalid_request'])
    const { details, message } = body as never as {
      details: { fields: { field: string }[] }
      message: string
    }
    expect(details.fields.map((one) => one.field)).toContain(named)
    expect(message).toContain(field)
    expect((await edge.ask('GET', '/api/webhooks?status=all')).body).toMatchObject({ webhooks: [] })
  })

  test.each(['timeframe', 'exchange', 'top_n', 'cadence'])(
    'of a digest without %s is refused',
    async (field) => {
      const { status, body } = await edge.create({ ...DIGEST, [field]: undefined })
      expect([status, body.code]).toEqual([400, 'invalid_request'])
      expect((body as never as { message: string }).message).toContain(`${field}: is needed for scan_digest`)
    },
  )

  test.each([
    ['http://bot.example.com/', /https/],
    ['https://127.0.0.1/', /not a public one/],
    ['https://signals.example.com/', /this service/],
    ['https://user:pass@bot.example.com/', /user/],
    ['https://nowhere.example.net/', /cannot be resolved/],
  ])('for %s is refused', async (url, message) => {
    const { status, body } = await edge.create({ url })
    expect([status, body.code]).toEqual([400, 'url_refused'])
    expect((body as never as { message: string }).message).toMatch(message)
  })
})

describe('a creation', () => {
  beforeEach(async () => {
    edge = await aWebhookEdge()
  })
  afterEach(() => edge.close())

  test.each([
    ['top_n', 0],
    ['top_n', 101],
    ['cadence', '2h'],
    ['timeframe', '2m'],
    ['exchange', 'hl'],
  ])('of a digest with %s of %j is refused', async (field, value) => {
    expect((await edge.create({ ...DIGEST, [field]: value })).status).toBe(400)
    expect((await edge.create(DIGEST)).status).toBe(201)
  })

  test('past the limit of the plan, or with a body past its own, is refused', async () => {
    const tooLarge = await edge.ask('POST', '/api/webhooks', {
      payload: `{"url":"${'x'.repeat(LIMITS.requestBodyBytes)}"}`,
    })
    expect([tooLarge.status, tooLarge.body.code]).toEqual([413, 'payload_too_large'])
    for (let n = 0; n < LIMITS.subscriptionsOnFree; n++) expect((await edge.create()).status).toBe(201)
    const full = await edge.create()
    expect([full.status, full.body]).toMatchObject([
      409,
      { code: 'limit_reached', details: { limit: 5, subscriptions: 5 } },
    ])
  })
})

describe('other requests', () => {
  onOneEdge()
  let path: string
  beforeAll(async () => {
    path = `/api/webhooks/${await edge.createId()}`
  })

  test.each<readonly [Route['method'], string, object | undefined, string]>([
    ['PATCH', '', { url: 7 }, 'url'],
    ['PATCH', '', { events: [] }, 'events'],
    ['PATCH', '', { min_confidence: 'high' }, 'min_confidence'],
    ['POST', '/resume', { from: 'here' }, 'from'],
    ['POST', '/resume', { from: 'since' }, 'since'],
    ['POST', '/resume', { since: '1' }, 'since'],
    ['POST', '/resume', { from: 'since', since: '99999' }, 'since'],
    ['POST', '/rotate-secret', { overlap_hours: -1 }, 'overlap_hours'],
    ['POST', '/rotate-secret', { overlap_hours: 168.1 }, 'overlap_hours'],
    ['POST', '/recover', {}, 'since'],
    ['POST', '/recover', { since: '2026-11-20T00:00' }, 'since'],
    ['POST', '/recover', { since: '2026-01-01T00:00:00Z', only: 'failed' }, 'only'],
    ['POST', '/resume', { from: 'since', since: '2026-11-20T00:00' }, 'since'],
    ['GET', '/deliveries?limit=0', undefined, 'limit'],
    ['GET', '/deliveries?result=lost', undefined, 'result'],
    ['GET', '/events?limit=101', undefined, 'limit'],
  ])('%s %s of %j is refused, and the field is named', async (method, rest, payload, named) => {
    const { status, body } = await edge.ask(
      method,
      `${path}${rest}`,
      payload === undefined ? {} : { payload },
    )
    expect([status, body.code]).toEqual([400, 'invalid_request'])
    const { details } = body as never as { details: { fields: { field: string }[] } }
    expect(details.fields.map(({ field }) => field)).toContain(named)
  })

  test.each([
    '/api/webhooks?status=gone',
    '/api/webhooks?limit=101',
    '/api/webhooks?after=x',
    '/api/webhooks/7',
  ])('GET %s is refused', async (url) => {
    expect((await edge.ask('GET', url)).status).toBe(400)
  })

  test('text that is not said to be JSON is refused', async () => {
    const { status, body } = await edge.ask('POST', '/api/webhooks', {
      payload: { url: URL, events: ['trade_call'] },
      headers: { 'content-type': 'text/plain' },
    })
    expect([status, body.code]).toEqual([415, 'unsupported_media_type'])
  })
})
