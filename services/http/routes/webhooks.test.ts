import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { listen } from '../../mcp/testing/mcp-edge.fixture.ts'
import { createEgressGuard, createGuardedSender } from '../../webhooks/index.ts'
import { verifyWebhook } from '../../webhooks/receiving/verify-webhook.fixture.ts'
import type { OpenApiDocument } from '../openapi.ts'
import {
  aWebhookEdge,
  NOBODYS,
  ORIGIN,
  TOKEN,
  URL,
  type WebhookEdge,
} from '../testing/webhook-edge.fixture.ts'

let edge: WebhookEdge
beforeEach(async () => {
  edge = await aWebhookEdge()
})
afterEach(() => edge.close())

describe('a subscription over HTTP', () => {
  test('lives from its creation to its deletion', async () => {
    const created = await edge.create({ timeframes: ['1h'], assets: ['BTC', 'top:20'], min_confidence: 70 })
    expect(created.status).toBe(201)
    expect(created.headers).toMatchObject({
      location: `/api/webhooks/${created.body.id}`,
      'cache-control': 'no-store',
    })
    expect(created.body).toMatchObject({
      url: URL,
      events: ['trade_call'],
      timeframes: ['1h'],
      assets: ['BTC', 'top:20'],
      exchanges: null,
      min_confidence: 70,
      only_changes: false,
      cadence: null,
      state: 'active',
      reason: null,
      retries_open: 0,
      secrets_signing: 1,
      secret: expect.stringMatching(/^whsec_/),
      warnings: [expect.stringMatching(/^min_confidence: 70 is more than the 60/)],
    })
    const path = `/api/webhooks/${created.body.id}`
    const { secret: _secret, ...shown } = created.body as never as { secret: string }
    expect((await edge.ask('GET', path)).body).toEqual(shown)
    expect((await edge.ask('GET', '/api/webhooks')).body).toEqual({
      webhooks: [shown],
      needs_review: 0,
      next: null,
    })
    const changed = await edge.ask('PATCH', path, { payload: { min_confidence: null, only_changes: true } })
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { min_confidence: 0, only_changes: true, warnings: [] },
    ])
    expect((await edge.ask('POST', `${path}/pause`)).body).toMatchObject({ state: 'paused' })
    expect((await edge.ask('POST', `${path}/resume`)).body).toMatchObject({ state: 'active' })
    expect(
      (await edge.ask('POST', `${path}/resume`, { payload: { from: 'since', since: '1' } })).body,
    ).toMatchObject({
      cursor: created.body.cursor,
    })
    const rotated = await edge.ask('POST', `${path}/rotate-secret`, { payload: { overlap_hours: 0.5 } })
    expect(rotated.body).toMatchObject({
      secret: expect.stringMatching(/^whsec_/),
      overlap_until: new Date(edge.now + 1_800_000).toISOString(),
    })
    expect((await edge.ask('GET', path)).body).toMatchObject({ secrets_signing: 2 })
    const deleted = await edge.ask('DELETE', path)
    expect([deleted.status, deleted.body]).toEqual([204, {}])
    for (const method of ['DELETE', 'GET'] as const) {
      expect([method, (await edge.ask(method, path)).body.code]).toEqual([method, 'not_found'])
    }
    expect((await edge.ask('GET', '/api/webhooks?status=all')).body).toMatchObject({ webhooks: [] })
  })

  test('says why its deliveries wait, and until when, wherever it is shown', async () => {
    const [first, second] = [await edge.createId(), await edge.createId()]
    const day = edge.now - (edge.now % 86_400_000)
    await edge.recordPosts(first, LIMITS.webhookPostsPerDay)
    const path = `/api/webhooks/${second}`
    const until = new Date(day + 86_400_000).toISOString()
    const warnings = [
      `Your account has made its 2900 deliveries of this day: what is left waits, and goes on at ${until}.`,
    ]
    expect((await edge.ask('GET', path)).body).toMatchObject({ warnings })
    expect((await edge.ask('GET', '/api/webhooks')).body).toMatchObject({
      webhooks: [{ warnings }, { warnings }],
    })
    edge.now = day + 86_400_000
    expect((await edge.ask('GET', path)).body).toMatchObject({ warnings: [] })
  })

  test('takes another address and a rate, and shows them', async () => {
    const path = `/api/webhooks/${(await edge.create({ max_per_second: 20 })).body.id}`
    expect((await edge.ask('GET', path)).body).toMatchObject({ url: URL, max_per_second: 20 })
    const moved = await edge.ask('PATCH', path, {
      payload: { url: 'https://bot.example.com/other', max_per_second: null },
    })
    expect([moved.status, moved.body]).toMatchObject([
      200,
      { url: 'https://bot.example.com/other', max_per_second: null },
    ])
    const refused: [object, string][] = [
      [{ url: 'https://10.0.0.1/' }, 'url_refused'],
      [{ url: 'http://bot.example.com/' }, 'url_refused'],
      [{ url: null }, 'invalid_request'],
      [{ max_per_second: 0 }, 'invalid_request'],
      [{ max_per_second: LIMITS.webhookPerSecond + 1 }, 'invalid_request'],
    ]
    for (const [payload, code] of refused)
      expect((await edge.ask('PATCH', path, { payload })).body).toMatchObject({ code })
  })

  test('is refused with all that is missing at once, by route and by tool', async () => {
    const missing = [
      { field: 'url', problem: 'is missing' },
      { field: 'events', problem: 'is missing' },
    ]
    const { status, body } = await edge.ask('POST', '/api/webhooks', { payload: {} })
    expect([status, body]).toMatchObject([400, { code: 'invalid_request', details: { fields: missing } }])
    for (const payload of [[], 'text', 7, null]) {
      const answer = await edge.ask('POST', '/api/webhooks', { payload: payload as never })
      expect([payload, answer.status]).toEqual([payload, 400])
    }
    const near = await edge.ask('POST', '/api/webhooks', {
      payload: { events: ['trade_call'], url: 'https://a.example', asset: ['BTC'] },
    })
    expect(near.body.message).toBe('asset: is not a field of this request; did you mean assets?')
  })

  test('is tested so often in a minute', async () => {
    const path = `/api/webhooks/${await edge.createId()}/test`
    expect((await edge.ask('POST', path)).body).toMatchObject({
      accepted: true,
      outcome: 'answered',
      status: 204,
      latency_ms: 7,
      event: 'trade_call',
    })
    expect(edge.sent).toHaveLength(1)
    const chosen = await edge.ask('POST', path, { payload: { event: 'scan_digest' } })
    expect(chosen.body).toMatchObject({ event: 'scan_digest', accepted: true })
    expect(JSON.parse(Buffer.from(edge.sent.pop()?.body ?? '').toString())).toMatchObject({
      event: 'scan_digest',
      data: { type: 'scan_digest' },
    })
    const unknown = await edge.ask('POST', path, { payload: { event: 'verdict' } })
    expect([unknown.status, edge.sent.length]).toEqual([400, 1])
    edge.tests = LIMITS.webhookTestsPerMinute
    const refused = await edge.ask('POST', path)
    expect([refused.status, refused.headers['retry-after'], edge.sent.length]).toEqual([429, '1', 1])
  })

  test('shows what was sent and what is missing, of an empty past too', async () => {
    const path = `/api/webhooks/${await edge.createId()}`
    expect((await edge.ask('GET', `${path}/deliveries?result=failed&limit=5`)).body).toEqual({
      attempts: [],
      next: null,
    })
    expect((await edge.ask('GET', `${path}/retries`)).body).toEqual({ retries: [] })
    const refused = await edge.ask('GET', `${path}/deliveries?coin=BTC`)
    expect([refused.body.code, refused.body.message]).toEqual([
      'invalid_request',
      expect.stringContaining('coin'),
    ])
    expect((await edge.ask('GET', `${path}/events?after=0`)).body).toEqual({ events: [], next: null })
    const recovered = await edge.ask('POST', `${path}/recover`, {
      payload: { since: '2026-01-01T00:00:00Z' },
    })
    expect([recovered.status, recovered.body]).toEqual([202, { deliveries: 0 }])
    expect((await edge.ask('POST', `${path}/replay`, { payload: {} })).status).toBe(404)
  })

  test('ends with its account, and nobody can read what it was', async () => {
    const id = await edge.createId()
    const identity = await edge.accounts.identify(`Bearer ${edge.key}`)
    await edge.accounts.erase(identity.outcome === 'OK' ? identity.accountId : '', ORIGIN)
    await expect.poll(() => edge.text()).toContain('the account was erased')
    expect((await edge.ask('GET', `/api/webhooks/${id}`)).status).toBe(401)
    expect(edge.text()).not.toContain('wrappedKey')
  })
})

describe('the tools of MCP', () => {
  const clients: Client[] = []
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())))

  async function connect(headers: Record<string, string>) {
    const versionNegotiation = { mode: { pin: '2026-07-28' } } as const
    const client = new Client({ name: 'owner', version: '1.0.0' }, { versionNegotiation })
    clients.push(client)
    const url = new globalThis.URL(address)
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    // It checks every answer against the schemas that it was shown.
    const { tools } = await client.listTools()
    const call = async (name: string, args: Record<string, unknown> = {}) => {
      const { isError, structuredContent } = await client.callTool({ name, arguments: args })
      return { isError, body: structuredContent as Record<string, unknown> }
    }
    return { tools, call }
  }
  let address: string
  beforeEach(async () => {
    address = await listen(edge.app)
  })

  test('do with a webhook what its routes do', async () => {
    const headers = { authorization: `Bearer ${edge.key}` }
    const { tools, call } = await connect(headers)
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]))
    expect(hints).toMatchObject({
      get_trade_call: { readOnlyHint: true },
      list_webhooks: { readOnlyHint: true },
      delete_webhook: { destructiveHint: true },
    })
    const wanted = { url: URL, events: ['trade_call'], assets: ['BTC'] }
    const created = (await call('create_webhook', wanted)).body
    const { id, secret } = created
    expect(secret).toMatch(/^whsec_/)
    const path = `/api/webhooks/${String(id)}`
    expect((await call('get_webhook', { id })).body).toEqual((await edge.ask('GET', path)).body)
    const listed = await call('list_webhooks')
    expect(listed.body).toEqual((await edge.ask('GET', '/api/webhooks')).body)
    expect(JSON.stringify(listed)).not.toContain('whsec_')
    expect((await call('pause_webhook', { id })).body).toMatchObject({ state: 'paused' })
    expect((await call('resume_webhook', { id, from: 'now' })).body).toMatchObject({ state: 'active' })
    const rotated = await call('rotate_webhook_secret', { id, overlap_hours: 0.5 })
    expect(rotated.body).toEqual({
      secret: expect.stringMatching(/^whsec_/),
      overlap_until: new Date(edge.now + 1_800_000).toISOString(),
    })
    expect(rotated.body.secret).not.toBe(secret)
    expect((await call('test_webhook', { id })).body).toMatchObject({ accepted: true, status: 204 })
    expect((await call('list_webhook_deliveries', { id })).body).toEqual({ attempts: [], next: null })

    for (const [name, args, way] of [
      ['recover_webhook', { id, since: 'yesterday' }, `${path}/recover`],
      ['create_webhook', { ...wanted, url: 'http://10.0.0.1/' }, '/api/webhooks'],
    ] as const) {
      const payload = 'since' in args ? { since: args.since } : args
      const byRoute = await edge.ask('POST', way, { payload })
      const refused = await call(name, args)
      expect([name, refused.isError, refused.body.code]).toEqual([name, true, byRoute.body.code])
    }
    edge.tests = LIMITS.webhookTestsPerMinute
    expect((await call('test_webhook', { id })).body.code).toBe('rate_limited')
    const unclear = await call('resume_webhook', { id, from: 'since' })
    expect(unclear.body).toMatchObject({ code: 'invalid_request', details: { fields: [{ field: 'since' }] } })

    expect((await call('delete_webhook', { id })).body).toEqual({ id, deleted: true })
    expect((await call('get_webhook', { id })).body.code).toBe('not_found')
  })

  test('are for the holder of a key, and for nobody else’s webhooks', async () => {
    const id = await edge.createId()
    const anonymous = await connect({})
    for (const name of ['create_webhook', 'list_webhooks', 'get_webhook', 'delete_webhook']) {
      const args = name === 'create_webhook' ? { url: URL, events: ['trade_call'] } : { id }
      const asked = name === 'list_webhooks' ? {} : args
      expect([name, (await anonymous.call(name, asked)).body.code]).toEqual([name, 'unauthorized'])
    }
    const { key } = await edge.issueKey('eve@example.com')
    const other = await connect({ authorization: `Bearer ${key}` })
    for (const name of ['get_webhook', 'pause_webhook', 'rotate_webhook_secret', 'delete_webhook'])
      expect([name, (await other.call(name, { id })).body.code]).toEqual([name, 'not_found'])
    const unknown = await connect({ authorization: `Bearer ${key.slice(0, -4)}AAAA` })
    await expect(unknown.call('list_webhooks')).rejects.toMatchObject({ code: -32003 })
    expect((await edge.ask('GET', `/api/webhooks/${id}`)).body).toMatchObject({ state: 'active' })
  })
})

test('while a rotation overlaps the old secret signs as before, until the next rotation ends the overlap', async () => {
  const created = await edge.create()
  const path = `/api/webhooks/${created.body.id}`
  const { body: rotated } = await edge.ask('POST', `${path}/rotate-secret`)
  const [old, next] = [String(created.body.secret), String(rotated.secret)]
  const isSignedBy = async (secret: string) => {
    await edge.ask('POST', `${path}/test`)
    const { headers, body } = edge.sent.at(-1) ?? expect.fail('nothing was sent')
    const { 'X-Service-Signature-Next': _next, ...interfaceOnly } = headers
    const now = edge.now
    return [headers, interfaceOnly].map((given) => verifyWebhook({ secret, headers: given, body, now }).ok)
  }
  expect(await isSignedBy(old)).toEqual([true, true])
  expect(await isSignedBy(next)).toEqual([true, false])
  const { body: last } = await edge.ask('POST', `${path}/rotate-secret`, { payload: { overlap_hours: 0 } })
  expect(await isSignedBy(old)).toEqual([false, false])
  expect(await isSignedBy(next)).toEqual([false, false])
  expect(await isSignedBy(String(last.secret))).toEqual([true, true])
})

test('what needs no body is taken with the content type of one', async () => {
  const path = `/api/webhooks/${await edge.createId()}`
  const headers = { 'content-type': 'application/json' }
  for (const what of ['pause', 'resume', 'rotate-secret', 'test']) {
    expect([what, (await edge.ask('POST', `${path}/${what}`, { headers })).status]).toEqual([what, 200])
  }
  expect((await edge.ask('DELETE', path, { headers })).status).toBe(204)
})

describe('the operator', () => {
  test('sees one without its address, stops it until it allows it, and is nobody else', async () => {
    const id = await edge.createId()
    const as = { as: TOKEN }
    const shown = await edge.ask('GET', `/operator/webhooks/${id}`, as)
    expect(shown.body).toMatchObject({ id, origin: 'https://bot.example.com', state: 'active' })
    expect(shown.body).not.toHaveProperty('url')
    const stopped = await edge.ask('POST', `/operator/webhooks/${id}/stop`, {
      ...as,
      payload: { reason: 'complaints' },
    })
    expect(stopped.body).toMatchObject({ state: 'stopped', reason: 'stopped by the operator: complaints' })
    expect((await edge.ask('GET', '/api/webhooks')).body).toMatchObject({ webhooks: [], needs_review: 1 })
    expect((await edge.ask('GET', '/api/webhooks?status=disabled')).body).toMatchObject({
      webhooks: [{ id }],
    })
    for (const what of ['pause', 'resume', 'test']) {
      const { status, body } = await edge.ask('POST', `/api/webhooks/${id}/${what}`)
      expect([what, status, body.code]).toEqual([what, 409, 'state_conflict'])
    }
    const allowed = await edge.ask('POST', `/operator/webhooks/${id}/allow`, {
      ...as,
      payload: { reason: 'cleared' },
    })
    expect(allowed.body.state).toBe('paused')
    expect((await edge.ask('POST', `/api/webhooks/${id}/resume`)).body).toMatchObject({ state: 'active' })
    for (const stranger of ['', edge.key]) {
      expect((await edge.ask('GET', '/operator/webhooks', { as: stranger })).status).toBe(401)
    }
    expect((await edge.ask('GET', `/operator/webhooks/${NOBODYS}`, as)).body.code).toBe('not_found')
    await expect
      .poll(async () => (await edge.ask('GET', '/operator/webhooks?limit=1', as)).body)
      .toMatchObject({ webhooks: [{ id }], next: id })
    expect((await edge.ask('GET', `/operator/webhooks?after=${id}`, as)).body).toEqual({
      webhooks: [],
      next: null,
    })
  })
})

describe('the description', () => {
  const described = async () => {
    const { paths } = (await edge.app.inject('/openapi.json')).json<OpenApiDocument>()
    return Object.entries(paths)
      .filter(([path]) => path.startsWith('/api/webhooks'))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
      )
  }

  test('has words for every route of webhooks', async () => {
    const all = await described()
    expect(all).toHaveLength(13)
    for (const { path: name, operation } of all) {
      const bare = (operation.parameters ?? []).filter((one) => one.description === one.name)
      expect(bare, name).toEqual([])
      expect(operation.security, name).toEqual([{ key: [] }])
    }
  })

  test('has examples of bodies that are taken', async () => {
    const id = await edge.createId()
    let taken = 0
    for (const { method, path, operation } of await described()) {
      const { content } = (operation.requestBody ?? {}) as {
        content?: { 'application/json': { example?: object } }
      }
      const example = content?.['application/json'].example
      if (example === undefined) continue
      const asked = await edge.ask(method.toUpperCase() as 'POST', path.replace('{id}', id), {
        payload: example,
      })
      expect([path, asked.status < 300, asked.body.code]).toEqual([path, true, undefined])
      taken += 1
    }
    expect(taken).toBe(2)
  })
})

test('over real sockets, a receiver can verify the sample with the secret it was told', async () => {
  await edge.close()
  const received: { headers: IncomingHttpHeaders; body: Buffer }[] = []
  const receiver = createHttpServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks) })
      response.writeHead(200).end('thanks')
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  const guard = createEgressGuard({ allowPrivate: true, ownHosts: [] })
  const sender = createGuardedSender({ guard, now: Date.now })
  edge = await aWebhookEdge({ sender, allowPrivate: true })
  edge.now = Date.now()
  const address = await edge.app.listen({ port: 0, host: '127.0.0.1' })
  const post = async (path: string, body?: object) => {
    const headers = {
      authorization: `Bearer ${edge.key}`,
      ...(body && { 'content-type': 'application/json' }),
    }
    const given = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(`${address}${path}`, { method: 'POST', headers, ...given })
    return (await answer.json()) as Record<string, string>
  }
  const { id, secret = '' } = await post('/api/webhooks', {
    url,
    events: ['scan_digest', 'trade_call'],
    ...DIGEST,
  })
  const sample = await post(`/api/webhooks/${id}/test`)
  expect(sample).toMatchObject({ accepted: true, status: 200, detail: 'thanks', event: 'scan_digest' })
  const [{ headers, body } = expect.fail()] = received
  const verified = verifyWebhook({ secret, headers, body, now: Date.now() })
  expect(verified).toMatchObject({ ok: true, webhook: { test: true, delivery_id: sample.delivery_id } })
  const wrong = `${secret.slice(0, -3)}AA=`
  expect(verifyWebhook({ secret: wrong, headers, body, now: Date.now() }).ok).toBe(false)
  await sender.close()
  receiver.close()
})

const DIGEST = { timeframe: '1h', exchange: 'SIM', top_n: 5, cadence: '1h' }
