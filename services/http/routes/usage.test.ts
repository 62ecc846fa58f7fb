import fastify, { type FastifyInstance } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { UsageAnswer } from '../../../contracts/answers/account.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { useErrorRegistry } from '../errors.ts'
import { accountsPlugin } from './accounts.ts'

const ANSWER: UsageAnswer = {
  tier: 'starter',
  window: { id: 'plan-20261121T031500Z', from: '2026-11-21T03:15:00.000Z', to: '2026-12-21T03:15:00.000Z' },
  quota: { remaining: 9_998, limit: 10_000, used: 2, resets_at: '2026-12-21T03:15:00.000Z', daily: null },
  days: [{ day: '2026-11-21', calls: 2, tools: { get_trade_call: 2 } }],
  debits: [
    {
      at: '2026-11-21T04:00:00.000Z',
      window: 'plan-20261121T031500Z',
      tool: 'get_trade_call',
      channel: 'mcp',
      key_id: null,
      request_hash: 'a'.repeat(64),
      used: 2,
    },
  ],
  next: '2026-11-21T04:00:00.000Z/plan-20261121T031500Z/000000001',
}

let app: FastifyInstance
let asked: unknown[]

beforeEach(async () => {
  asked = []
  app = fastify()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  useErrorRegistry(app)
  await app.register(accountsPlugin, {
    async usage(authorization, query) {
      asked.push([authorization, query])
      if (authorization === undefined) throw new ServiceError('unauthorized')
      return ANSWER
    },
  })
})
afterEach(() => app.close())

const get = (query = '', headers: Record<string, string> = { authorization: 'Bearer key' }) =>
  app.inject({ method: 'GET', url: `/api/usage${query}`, headers })

test('the usage of a key is answered, and kept by nobody', async () => {
  const response = await get()
  expect(response.statusCode).toBe(200)
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.json()).toEqual({ ...ANSWER, next: expect.stringMatching(/^[A-Za-z0-9_-]+$/) })
  expect(asked).toEqual([['Bearer key', { limit: 50 }]])
})

test('the cursor of an answer leads to the page behind it', async () => {
  const { next } = (await get('?limit=1')).json<UsageAnswer>()
  await get(`?limit=1&after=${next}`)
  expect(asked.at(-1)).toEqual(['Bearer key', { limit: 1, after: ANSWER.next }])
})

test('without a key it is refused', async () => {
  const response = await get('', {})
  expect(response.statusCode).toBe(401)
  expect(response.json()).toMatchObject({ code: 'unauthorized' })
})

test.each(['?limit=0', '?limit=201', '?after=../x', '?payer=somebody'])('%s is not valid', async (query) => {
  const response = await get(query)
  expect(response.statusCode).toBe(400)
  expect(asked).toEqual([])
})
