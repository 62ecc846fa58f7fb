import { fromJsonSchema } from '@modelcontextprotocol/server'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { KNOWLEDGE_TOOLS } from '../../contracts/tools/free-tools.ts'
import { TOOLS } from '../../contracts/tools/tool-catalogue.ts'
import {
  CHAT_ANSWER,
  fakeKnowledgeService,
  SEARCH_ANSWER,
} from '../http/testing/knowledge-service.fixture.ts'
import { createMcpEdge, messageTo } from './testing/mcp-edge.fixture.ts'
import { freeTools, type ListedTool, listedTools } from './tools.ts'

const fake = fakeKnowledgeService()
const NAMES = [...Object.keys(TOOLS), ...Object.keys(KNOWLEDGE_TOOLS)]

beforeEach(() => {
  fake.asked.length = 0
  fake.failure = undefined
})

describe('the tools about the service', () => {
  let app: FastifyInstance
  beforeAll(async () => {
    app = await createMcpEdge({ knowledge: fake.service })
  })
  afterAll(() => app.close())

  const send = (method: string, params: JsonObject, headers: Record<string, string> = {}) =>
    messageTo(app, method, params, headers)
  const call = async (name: string, request: JsonObject, headers: Record<string, string> = KEY) =>
    (await send('tools/call', { name, arguments: request }, headers)).json<{
      result?: { isError: boolean; structuredContent: JsonObject; content: { text: string }[] }
      error?: JsonObject
    }>()

  test('they are listed behind the four, which stay where they are', async () => {
    const { result } = (await send('tools/list', {})).json<{ result: { tools: ListedTool[] } }>()
    expect(result.tools.map(({ name }) => name)).toEqual(NAMES)
    expect(result.tools.slice(4).map(({ annotations }) => annotations)).toEqual([
      { readOnlyHint: true, openWorldHint: false },
      { readOnlyHint: true, openWorldHint: false },
    ])
  })

  test('the description of the service names them', async () => {
    const { result } = (await send('resources/read', { uri: 'signal://service' })).json<{
      result: { contents: [{ text: string }] }
    }>()
    expect(JSON.parse(result.contents[0].text)).toMatchObject({ tools: NAMES })
  })

  test('they answer as search and chat do, with the same JSON as text', async () => {
    for (const [name, request, answer] of [
      ['search_knowledge', { query: 'quota' }, SEARCH_ANSWER],
      ['chat_knowledge', { question: 'What counts?' }, CHAT_ANSWER],
    ] as const) {
      const { result } = await call(name, request)
      expect(result).toMatchObject({ isError: false, structuredContent: answer })
      expect(JSON.parse(result?.content[0]?.text ?? '')).toEqual(answer)
    }
    expect(fake.asked).toMatchObject([{}, { channel: 'mcp', idempotencyKey: undefined }])
  })

  test('a stored answer says so', async () => {
    const params = { name: 'chat_knowledge', arguments: { question: 'What counts?' } }
    const response = await send('tools/call', params, { ...KEY, 'idempotency-key': 'again' })
    expect(response.headers['idempotency-replayed']).toBe('true')
    expect(response.json()).toMatchObject({ result: { isError: false } })
  })

  test.each([
    ['search_knowledge', { query: 'ab' }, 'MCP error -32602: QUERY_TOO_SHORT: ', 'QUERY_TOO_SHORT'],
    ['search_knowledge', {}, 'MCP error -32602: INVALID_QUERY: ', 'INVALID_QUERY'],
    ['search_knowledge', { query: 'quota', limit: 51 }, 'MCP error -32602: INVALID_QUERY: ', 'INVALID_QUERY'],
    [
      'chat_knowledge',
      { question: 'x'.repeat(501) },
      'MCP error -32602: QUESTION_TOO_LONG: ',
      'QUESTION_TOO_LONG',
    ],
    [
      'chat_knowledge',
      { question: 'What counts?', model: 'x' },
      'MCP error -32602: INVALID_MODEL: ',
      'INVALID_MODEL',
    ],
  ])('%s refuses %j', async (name, request, text, code) => {
    const { result } = await call(name, request)
    expect(result).toMatchObject({ isError: true, structuredContent: { code } })
    expect(result?.content[0]?.text.startsWith(text)).toBe(true)
  })

  test('they need a key here too, which a client’s model can read', async () => {
    const { result } = await call('search_knowledge', { query: 'quota' }, {})
    expect(result).toMatchObject({ isError: true, structuredContent: { code: 'unauthorized' } })
  })

  test('a key that does not exist is an error of the protocol', async () => {
    const { error } = await call('search_knowledge', { query: 'quota' }, { authorization: 'Bearer unknown' })
    expect(error).toMatchObject({ code: -32003, data: { code: 'key_unknown' } })
  })

  test('what fails inside is not told', async () => {
    fake.failure = new TypeError('a secret of the inside')
    const { result } = await call('chat_knowledge', { question: 'What counts?' })
    expect(result).toMatchObject({ isError: true, structuredContent: { code: 'INTERNAL_ERROR' } })
    expect(JSON.stringify(result)).not.toContain('a secret')
  })
})

const KEY = { authorization: 'Bearer key' }

test('without search and chat they are neither listed nor known', async () => {
  const app = await createMcpEdge()
  const { result } = (await messageTo(app, 'tools/list', {})).json<{ result: { tools: ListedTool[] } }>()
  expect(result.tools.map(({ name }) => name)).toEqual(Object.keys(TOOLS))
  const refused = await messageTo(app, 'tools/call', {
    name: 'search_knowledge',
    arguments: { query: 'quota' },
  })
  expect(refused.json()).toMatchObject({ result: { structuredContent: { code: 'unknown_tool' } } })
  await app.close()
})

test('their schemas admit their answers and refusals, and no half ones', async () => {
  const isValid = async (schema: object, value: unknown): Promise<boolean> =>
    !('issues' in (await fromJsonSchema(schema)['~standard'].validate(value)))
  const sources = { exchanges: () => [] }
  const free = freeTools({ knowledge: fake.service, checkKey: async () => 'ok', sources })
  const [search, chat] = listedTools(free).slice(4)
  for (const [tool, answer] of [
    [search, SEARCH_ANSWER],
    [chat, CHAT_ANSWER],
  ] as const) {
    const schema = tool?.outputSchema ?? {}
    expect(await isValid(schema, answer)).toBe(true)
    expect(await isValid(schema, { code: 'INVALID_QUERY', message: 'x', next_step: 'y' })).toBe(true)
    expect(await isValid(schema, {})).toBe(false)
  }
})
