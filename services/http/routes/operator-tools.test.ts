import { afterEach, beforeEach, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { createServer } from '../../composition/server.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'

const OPERATOR_TOKEN = 'operator-token-for-tests'
const AS_OPERATOR = { authorization: `Bearer ${OPERATOR_TOKEN}` }

let app: Awaited<ReturnType<typeof createServer>>
let asked: unknown[]

beforeEach(async () => {
  asked = []
  app = await createServer(
    serverOptions({
      operatorToken: OPERATOR_TOKEN,
      async answerTool(tool, request) {
        asked.push([tool, request])
        if (tool === 'spent') throw new ServiceError('quota_exhausted', { details: { retry_after_s: 4_711 } })
        if (tool === 'nothing') throw new ServiceError('unknown_tool', { details: { available: ['echo'] } })
        return { tool, request: { ...(request as { coin: string }) } }
      },
    }),
  )
})
afterEach(() => app.close())

const post = (tool: string, payload: object | undefined, headers: Record<string, string> = AS_OPERATOR) =>
  app.inject({
    method: 'POST',
    url: `/operator/tools/${tool}`,
    headers,
    ...(payload === undefined ? {} : { payload }),
  })

test('the operator asks a tool and has its answer', async () => {
  const response = await post('echo', { coin: 'BTC' })
  expect(response.statusCode).toBe(200)
  expect(response.headers['cache-control']).toBe('no-store')
  expect(response.json()).toEqual({ tool: 'echo', request: { coin: 'BTC' } })
})

test('a body that is left out is an empty request', async () => {
  await post('echo', undefined)
  expect(asked).toEqual([['echo', {}]])
})

test('a refusal keeps its code and what it lists', async () => {
  const response = await post('nothing', {})
  expect(response.statusCode).toBe(404)
  expect(response.json()).toMatchObject({ code: 'unknown_tool', details: { available: ['echo'] } })
})

test('a refusal that ends by itself says when', async () => {
  const response = await post('spent', {})
  expect(response.statusCode).toBe(429)
  expect(response.headers['retry-after']).toBe('4711')
})

test.each([
  ['without a credential', {}],
  ['with another', { authorization: 'Bearer somebody-else-entirely' }],
])('nobody else is answered: %s', async (_, headers) => {
  const response = await post('echo', { coin: 'BTC' }, headers)
  expect(response.statusCode).toBe(401)
  expect(asked).toEqual([])
})
