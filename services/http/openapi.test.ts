import { gunzipSync } from 'node:zlib'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { START } from '../../contracts/infra/position.ts'
import type { OpenApiDocument, OpenApiOperation } from './openapi.ts'
import { serverOfEveryRoute } from './testing/every-route.fixture.ts'
import { jsonSchemaFaults } from './testing/json-schema-faults.ts'

let app: FastifyInstance
let document: OpenApiDocument

beforeAll(async () => {
  app = await serverOfEveryRoute({ publicUrl: () => 'https://signals.example.com' })
  document = (await app.inject('/openapi.json')).json<OpenApiDocument>()
})
afterAll(() => app.close())

interface Found {
  readonly name: string
  readonly path: string
  readonly operation: OpenApiOperation
}
const operations = (): Found[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path.replaceAll(/\{([^}]+)\}/g, ':$1')}`,
      path,
      operation,
    })),
  )

/** Every method and path in a print of the router, as `├── api/ (…)` trees of segments. */
function registeredRoutes(): string[] {
  const found: string[] = []
  const prefixes: string[] = []
  for (const line of app.printRoutes({ commonPrefix: false, includeHooks: false }).split('\n')) {
    const [, indent = '', segment = '', , methods = ''] =
      /^(.*?)[├└]── (\S*)( \(([A-Z, ]+)\))?$/.exec(line) ?? []
    if (line === '') continue
    const depth = indent.length / 4
    prefixes.splice(depth, prefixes.length, segment)
    for (const method of methods.split(', ')) {
      if (method !== '' && method !== 'HEAD') found.push(`${method} ${prefixes.join('')}`)
    }
  }
  return found
}

/** Pages, what is the operator's, asks for permission, is there for other methods than the one that is described, or has a second name. */
const HIDDEN =
  / \/(?:account|assets|favicon\.ico|oauth\/authorize|operator|robots\.txt|series|track-record|webhooks)(?:\/|$)|^OPTIONS |^(?!POST).* \/mcp$| \/x402\/get_trade_signal$/

/** Reads that a server without stored events answers, with a path to try. */
const ANSWERED = {
  'GET /api/board': '/api/board?timeframe=1h',
  'GET /api/series/:exchange/:coin/:timeframe': '/api/series/SIM/BTC/1h',
  'GET /api/verdicts': '/api/verdicts?coin=BTC&timeframe=1h&limit=10',
  'GET /api/track-record': '/api/track-record?group_by=series&coin=BTC',
  'GET /api/track-record/months': '/api/track-record/months?timeframe=1h',
  'GET /api/track-record/coins': '/api/track-record/coins?timeframe=1h',
  'GET /api/regime-shifts': '/api/regime-shifts?exchange=SIM&coin=BTC&timeframe=1h',
  'GET /api/markets': '/api/markets?coin=BTC',
  'GET /': '/',
  'GET /openapi.json': '/openapi.json',
  'GET /livez': '/livez',
  'GET /readyz': '/readyz',
}

const nodesOf = (value: unknown): JsonObject[] => {
  if (Array.isArray(value)) return value.flatMap(nodesOf)
  if (typeof value !== 'object' || value === null) return []
  return [value as JsonObject, ...Object.values(value).flatMap(nodesOf)]
}

test('the document is OpenAPI 3.1', async () => {
  const validator = new Validator()
  expect(await validator.validate(structuredClone(document))).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

describe('GET /openapi.json', () => {
  test('is made once: the same bytes with a validator, compressed for those who take it, and 304', async () => {
    const ask = (headers: Record<string, string>) => app.inject({ url: '/openapi.json', headers })
    const plain = await ask({})
    const packed = await ask({ 'accept-encoding': 'br, gzip' })
    expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body)
    expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5)
    for (const { headers } of [plain, packed]) {
      const again = await ask({ 'if-none-match': String(headers.etag) })
      expect([again.statusCode, again.body]).toEqual([304, ''])
    }
    for (const coding of ['zstd', 'gzip;q=0', 'identity, gzip;q=0.5'])
      expect((await ask({ 'accept-encoding': coding })).headers['content-encoding']).toBeUndefined()
  })

  test('names the version, the address and the dialect', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { version: '1.2.3', title: expect.any(String) },
      servers: [{ url: 'https://signals.example.com' }],
    })
  })

  test('describes every public route, and nothing that is not there', () => {
    const registered = registeredRoutes()
    expect(registered).toContain('POST /operator/tools/:tool')
    const described = operations().map(({ name }) => name)
    // The print has no whole path for a star.
    const starred = ['GET /log/tile/:path', 'GET /log/contents/:path']
    expect(described.toSorted()).toEqual(
      [...registered.filter((name) => !HIDDEN.test(name) && !name.endsWith('*')), ...starred].toSorted(),
    )
  })

  test('has words for every parameter', () => {
    const bare = operations().flatMap(({ name, operation }) =>
      (operation.parameters ?? [])
        .filter((one) => one.description === one.name)
        .map((one) => `${name} ${one.name}`),
    )
    expect(bare).toEqual([])
  })

  test('has operations of different names, each under a tag that is described', () => {
    const ids = operations().map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const tags = document.tags.map(({ name }) => name)
    for (const { operation } of operations())
      expect(tags).toEqual(expect.arrayContaining([...operation.tags]))
  })

  test('declares every parameter of a path once, and required', () => {
    for (const { path, operation } of operations()) {
      const inPath = (operation.parameters ?? []).filter((one) => one.in === 'path')
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{[^}]+\}/g) ?? [])
      expect(inPath.every(({ required }) => required === true)).toBe(true)
      const names = (operation.parameters ?? []).map((one) => `${one.in} ${one.name}`)
      expect(new Set(names).size).toBe(names.length)
    }
  })

  test('gives every route an answer, with a schema unless it has no body, and one body of refusals', () => {
    for (const { name, operation } of operations()) {
      const { default: refusal, ...answers } = operation.responses
      expect(refusal, name).toMatchObject({
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      })
      expect(Object.keys(answers).length, name).toBeGreaterThan(0)
      for (const [status, { description, content }] of Object.entries(answers)) {
        expect(description, `${name} ${status}`).toMatch(/\w/)
        if (!['202', '204', '304'].includes(status))
          expect(Object.keys(content as JsonObject), `${name} ${status}`).not.toEqual([])
        for (const body of Object.values((content ?? {}) as Record<string, JsonObject>))
          expect(body.schema, `${name} ${status}`).toBeTypeOf('object')
      }
    }
  })

  test('refers to components that are there, and to no others', () => {
    const references = nodesOf(document).flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []))
    expect(references.length).toBeGreaterThan(10)
    for (const reference of new Set(references)) {
      const found = reference
        .replace('#/', '')
        .split('/')
        .reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], document)
      expect(found, reference).toBeDefined()
    }
  })

  test('says of every operation which credential it needs', () => {
    for (const { name, operation } of operations()) expect(operation.security, name).toBeInstanceOf(Array)
    const isPublic = (wanted: string) =>
      operations().find(({ name }) => name === wanted)?.operation.security.length === 0
    expect(['GET /api/verdicts', 'GET /api/markets', 'GET /verify/:verdict_id'].every(isPublic)).toBe(true)
    expect(['POST /api/search', 'GET /metrics'].some(isPublic)).toBe(false)
  })

  test('has patterns that every dialect reads', () => {
    const patterns = nodesOf(document).flatMap(({ pattern }) =>
      typeof pattern === 'string' ? [pattern] : [],
    )
    expect(patterns.length).toBeGreaterThan(0)
    for (const pattern of patterns) {
      expect(pattern).not.toMatch(/\\[pP]\{|\(\?<?[!=]/)
      expect(() => new RegExp(pattern)).not.toThrow()
    }
  })

  test('uses schemes of security that are declared', () => {
    const declared = Object.keys(document.components.securitySchemes as JsonObject)
    for (const { operation } of operations()) {
      for (const one of operation.security) {
        expect(declared).toEqual(expect.arrayContaining(Object.keys(one)))
      }
    }
  })

  test('has examples that are what their schemas say', () => {
    let checked = 0
    for (const node of nodesOf(document.paths)) {
      if (node.example === undefined || node.schema === undefined) continue
      expect(jsonSchemaFaults(node.example, node.schema as JsonObject)).toEqual([])
      checked += 1
    }
    expect(checked).toBeGreaterThan(0)
  })

  test('is what routes really answer', async () => {
    for (const [name, path] of Object.entries(ANSWERED)) {
      const operation = operations().find((one) => one.name === name)?.operation as OpenApiOperation
      const response = await app.inject(path)
      expect(response.statusCode, name).toBe(200)
      const { content } = operation.responses[200] as unknown as {
        content: Record<string, { schema: JsonObject }>
      }
      const type = String(response.headers['content-type']).split(';')[0] ?? ''
      expect(Object.keys(content), name).toContain(type)
      if (type !== 'application/json') continue
      expect(jsonSchemaFaults(response.json(), content[type]?.schema ?? {}), name).toEqual([])
    }
    expect((await app.inject('/api/track-record')).json()).toMatchObject({ as_of: START })
  })

  test('says nothing of the operator, and nothing of the framework', () => {
    const text = JSON.stringify(document)
    expect(text).not.toMatch(/\/operator\/|Default Response|fastify|zod/i)
  })
})
