import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { createServer } from '../composition/server.ts'
import { NO_READ_MODELS } from './testing/no-read-models.ts'
import { serverOptions } from './testing/server-options.fixture.ts'

const OPERATOR_TOKEN = 'operator-token-for-tests'
const AS_OPERATOR = { authorization: `Bearer ${OPERATOR_TOKEN}` }

let app: FastifyInstance
let asked: unknown[]
beforeEach(async () => {
  asked = []
  app = await createServer(
    serverOptions({
      ...NO_READ_MODELS,
      operatorToken: OPERATOR_TOKEN,
      answerTool: async (_tool, request) => {
        asked.push(request)
        return {}
      },
    }),
  )
})
afterEach(() => app.close())

const post = (payload: string | Buffer, headers: Record<string, string> = {}) =>
  app.inject({
    method: 'POST',
    url: '/operator/tools/get_trade_call',
    headers: { ...AS_OPERATOR, 'content-type': 'application/json', ...headers },
    payload,
  })

describe('a body', () => {
  test.each([
    ['of 10 MB', Buffer.alloc(10_000_000, 'x'), {}, 413, 'payload_too_large'],
    ['one byte too large', Buffer.alloc(LIMITS.requestBodyBytes + 1, ' '), {}, 413, 'payload_too_large'],
    ['that is cut off', '{"coin":', {}, 400, 'invalid_request'],
    ['with a prototype', '{"__proto__":{"isAdmin":true}}', {}, 400, 'invalid_request'],
    ['with a prototype inside', '{"a":[{"__proto__":1}]}', {}, 400, 'invalid_request'],
    ['with a constructor', '{"constructor":{"prototype":{"x":1}}}', {}, 400, 'invalid_request'],
    ['that is open for ever', '['.repeat(60_000), {}, 400, 'invalid_request'],
    [
      'of another type',
      'coin=BTC',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
    ],
    [
      'of two types at once',
      '{}',
      { 'content-type': 'application/json, application/json' },
      400,
      'invalid_content_type',
    ],
  ])('%s is refused, and nothing is asked', async (_name, payload, headers, status, code) => {
    const response = await post(payload, headers)
    expect([response.statusCode, response.json<{ code: string }>().code]).toEqual([status, code])
    expect(asked).toEqual([])
  })

  test('that is empty is the same as an empty object', async () => {
    for (const empty of ['', ' \n']) expect((await post(empty)).statusCode).toBe(200)
    expect(asked).toEqual([{}, {}])
  })

  test('that is not JSON is told so', async () => {
    expect((await post('{"coin":')).json()).toMatchObject({
      message: 'body: is not JSON',
      details: { fields: [{ field: 'body', problem: 'is not JSON' }] },
    })
  })

  test('that is nested deeply breaks nothing', async () => {
    const levels = 30_000
    const response = await post(`${'['.repeat(levels)}1${']'.repeat(levels)}`)
    expect(response.statusCode).toBeLessThan(500)
    expect((await app.inject('/livez')).statusCode).toBe(200)
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })
})

describe('a credential', () => {
  test.each(['x-api-key', 'api-key', 'x-authorization', 'cookie', 'proxy-authorization'])(
    'in the header %s is none: the caller is anonymous',
    async (name) => {
      const response = await app.inject({
        url: '/api/verdicts',
        headers: { [name]: `Bearer ${OPERATOR_TOKEN}` },
      })
      expect(response.statusCode).toBe(200)
      const tool = await post('{}', { authorization: '', [name]: `Bearer ${OPERATOR_TOKEN}` })
      expect([tool.statusCode, asked.length]).toEqual([401, 0])
    },
  )

  test.each([
    '${env:OPERATOR_TOKEN}',
    'Bearer ${env:KEY}',
    OPERATOR_TOKEN,
    `Token ${OPERATOR_TOKEN}`,
    'Bearer null',
  ])('%j opens nothing', async (authorization) => {
    const response = await post('{}', { authorization })
    expect([response.statusCode, asked.length]).toEqual([401, 0])
    expect(response.json()).toMatchObject({ code: 'unauthorized' })
    expect(response.body).not.toContain(OPERATOR_TOKEN)
    expect(response.headers['www-authenticate']).toBeUndefined()
  })
})

describe('an Accept header that names nothing to be had', () => {
  test.each(['image/png', 'text/html;q=x', 'a/b,'.repeat(500), ''])(
    '%j is answered all the same',
    async (accept) => {
      for (const url of ['/', '/api/markets', '/api/verdicts', '/api/track-record', '/openapi.json']) {
        expect((await app.inject({ url, headers: { accept } })).statusCode).toBe(200)
      }
    },
  )
})
