import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { createServer } from '../../composition/server.ts'
import { CHAT_ANSWER, fakeKnowledgeService, SEARCH_ANSWER } from '../testing/knowledge-service.fixture.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'

const fake = fakeKnowledgeService()
let app: FastifyInstance

beforeAll(async () => {
  const knowledge = {
    pages: () => Promise.resolve([]),
    page: () => Promise.resolve(undefined),
    search: () => Promise.reject(new Error('not asked')),
  }
  app = await createServer(serverOptions({ knowledge: { service: fake.service, knowledge } }))
})
beforeEach(() => {
  fake.asked.length = 0
  fake.failure = undefined
})
afterAll(() => app.close())

const KEY = { authorization: 'Bearer key' }
const JSON_TYPE = { 'content-type': 'application/json' }
const post = (url: string, payload: string | object, headers: Record<string, string> = {}) =>
  app.inject({ method: 'POST', url, payload, headers: { ...JSON_TYPE, ...KEY, ...headers } })

describe('POST /api/search', () => {
  test('answers, to be kept by caches for five minutes, apart for each key', async () => {
    const response = await post('/api/search', { query: 'quota' })
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual(SEARCH_ANSWER)
    expect(response.headers).toMatchObject({
      'cache-control': 'public, max-age=300',
      vary: 'authorization',
      'content-type': 'application/json; charset=utf-8',
    })
    for (const name of ['ratelimit', 'ratelimit-policy', 'x-request-id', 'etag']) {
      expect(response.headers).not.toHaveProperty(name)
    }
  })

  test('answers the same bytes to every key, whatever else is sent', async () => {
    const [one, other] = await Promise.all([
      post('/api/search', { query: 'quota' }),
      post('/api/search', { query: 'quota' }, { authorization: 'Bearer another', 'if-none-match': '*' }),
    ])
    expect([other.statusCode, other.body]).toEqual([200, one.body])
  })

  test('is refused without a key', async () => {
    const response = await app.inject({ method: 'POST', url: '/api/search', payload: { query: 'quota' } })
    expect(response.statusCode).toBe(401)
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.headers['x-request-id']).toBeDefined()
    expect(response.json()).toMatchObject({ code: 'unauthorized' })
  })

  test('takes no key from the header of other services, and passes on that one came', async () => {
    const headers = { 'x-api-key': 'sk_live_x' }
    await app.inject({ method: 'POST', url: '/api/search', payload: { query: 'quota' }, headers })
    expect(fake.asked).toMatchObject([{ authorization: 'X-API-Key' }])
  })
})

describe('POST /api/chat', () => {
  test('answers, and is kept by nobody', async () => {
    const response = await post('/api/chat', { question: 'What counts?' })
    expect([response.statusCode, response.json()]).toEqual([200, CHAT_ANSWER])
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.headers).not.toHaveProperty('idempotency-replayed')
    expect(fake.asked).toEqual([
      {
        request: { question: 'What counts?' },
        authorization: KEY.authorization,
        address: '127.0.0.1',
        idempotencyKey: undefined,
        requestId: 'request',
        channel: 'http',
      },
    ])
  })

  test('says of a stored answer that it is one', async () => {
    const response = await post('/api/chat', { question: 'What counts?' }, { 'idempotency-key': 'again' })
    expect(response.headers['idempotency-replayed']).toBe('true')
  })

  test('past the last chat says when there are more', async () => {
    fake.failure = new ServiceError('CHAT_QUOTA_EXHAUSTED', { details: { retry_after_s: 77 } })
    const response = await post('/api/chat', { question: 'What counts?' })
    expect([response.statusCode, response.headers['retry-after']]).toEqual([429, '77'])
    expect(response.json()).toMatchObject({ code: 'CHAT_QUOTA_EXHAUSTED', message: expect.any(String) })
  })
})

describe.each([
  ['/api/search', 'INVALID_QUERY'],
  ['/api/chat', 'INVALID_QUESTION'],
])('%s', (url, invalid) => {
  test.each([
    ['half an object', '{"query":'],
    ['nothing', ''],
    ['a number too many', '{} {}'],
    ['a prototype', '{"__proto__": {"query": "quota"}}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['an object without what is needed', '{}'],
  ])('refuses %s with its own code', async (_what, payload) => {
    const response = await post(url, payload)
    expect([response.statusCode, response.json()]).toEqual([400, expect.objectContaining({ code: invalid })])
    expect(response.headers['cache-control']).toBe('no-store')
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'text/html'])(
    'refuses %s with 415',
    async (type) => {
      const response = await post(url, '{"query":"quota"}', { 'content-type': type })
      expect([response.statusCode, response.json()]).toEqual([
        415,
        expect.objectContaining({ code: 'unsupported_media_type' }),
      ])
    },
  )

  test('refuses more than a body may have with 413', async () => {
    const response = await post(url, { query: 'q'.repeat(70_000) })
    expect([response.statusCode, response.json()]).toEqual([
      413,
      expect.objectContaining({ code: 'payload_too_large' }),
    ])
  })

  test('says nothing of what failed inside', async () => {
    fake.failure = new TypeError('a secret of the inside')
    const response = await post(url, { query: 'quota' })
    expect(response.statusCode).toBe(500)
    expect(response.json()).toMatchObject({ code: 'INTERNAL_ERROR', request_id: 'request' })
    expect(response.body).not.toContain('secret')
    expect(response.headers['cache-control']).toBe('no-store')
  })

  test('takes no other method', async () => {
    const response = await app.inject({ method: 'GET', url })
    expect([response.statusCode, response.headers.allow]).toEqual([405, 'POST'])
  })

  test('answers anything at all with a code, and never with a fault', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.json(), fc.string({ unit: 'binary' })),
        fc.jsonValue(),
        async (text, value) => {
          const payloads = [
            text,
            JSON.stringify({ query: value }),
            JSON.stringify({ question: value, model: text }),
          ]
          for (const payload of payloads) {
            const response = await post(url, payload)
            expect([200, 400]).toContain(response.statusCode)
            if (response.statusCode === 400)
              expect(response.json()).toMatchObject({
                code: /^[A-Z_]+$/.exec(response.json<{ code: string }>().code)?.[0],
              })
          }
        },
      ),
      { numRuns: 50 },
    )
  })
})
