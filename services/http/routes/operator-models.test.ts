import { afterEach, beforeEach, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { type ModelRow, modelsAnswerSchema } from '../../../contracts/model-answers.ts'
import { createServer } from '../../composition/server.ts'
import { serverOptions } from '../testing/server-options.fixture.ts'

const TOKEN = 'o'.repeat(32)
const AS_OPERATOR = { authorization: `Bearer ${TOKEN}` }
const row = (model_version: string): ModelRow => ({
  model_version,
  role: 'challenger',
  sha256: '7d'.repeat(32),
  timeframe: null,
  speaks: null,
  record: null,
  paired: null,
})

let app: Awaited<ReturnType<typeof createServer>>
beforeEach(async () => {
  app = await createServer(
    serverOptions({
      operatorToken: TOKEN,
      models: {
        list: () => ['a-1', 'b-1', 'c-1'].map(row),
        async choose(modelVersion, { actor }) {
          if (modelVersion !== 'b-1')
            throw new ServiceError('model_unknown', { details: { available: ['b-1'] } })
          return { modelVersion, sha256: actor.padEnd(64, '0'), from: Date.UTC(2026, 4, 2) }
        },
      },
    }),
  )
})
afterEach(() => app.close())

const ask = (method: 'GET' | 'POST', url: string, payload?: object) =>
  app.inject({ method, url, headers: AS_OPERATOR, ...(payload && { payload }) })

test('the models are listed in pages, for the operator alone', async () => {
  const page = modelsAnswerSchema.parse((await ask('GET', '/operator/models?limit=2')).json())
  expect([page.models.map((one) => one.model_version), page.next]).toEqual([['a-1', 'b-1'], '2'])
  const rest = (await ask('GET', `/operator/models?limit=2&after=${page.next}`)).json()
  expect(rest).toMatchObject({ models: [{ model_version: 'c-1' }], next: null })
  expect((await ask('GET', '/operator/models?after=x')).statusCode).toBe(400)
  const others = await app.inject({ method: 'GET', url: '/operator/models' })
  expect(others.statusCode).toBe(401)
})

test('another model is chosen, and one that is not here is refused with what is', async () => {
  const chosen = await ask('POST', '/operator/models/use', { model_version: 'b-1' })
  expect(chosen.json()).toMatchObject({ model_version: 'b-1', from: '2026-05-02T00:00:00.000Z' })
  expect(chosen.json().sha256).toMatch(/^operator0/)
  const refused = await ask('POST', '/operator/models/use', { model_version: 'z-1' })
  expect([refused.statusCode, refused.json().error?.code ?? refused.json().code]).toEqual([
    404,
    'model_unknown',
  ])
})
