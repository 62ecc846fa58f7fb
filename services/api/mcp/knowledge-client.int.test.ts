import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { CHAT_ANSWER, fakeKnowledgeService, SEARCH_ANSWER } from '../testing/knowledge-service.fixture.ts'
import { createMcpEdge, listen } from './testing/mcp-edge.fixture.ts'

let app: FastifyInstance
let url: string
let client: Client | undefined

beforeAll(async () => {
  app = await createMcpEdge({ knowledge: fakeKnowledgeService().service })
  url = await listen(app)
})
afterEach(() => client?.close())
afterAll(() => app.close())

const MODES = { modern: { pin: '2026-07-28' }, legacy: 'legacy' } as const

describe.each(Object.entries(MODES))('the official client, %s era', (_era, mode) => {
  async function connect(headers: Record<string, string>): Promise<Client> {
    client = new Client({ name: 'referee', version: '1.0.0' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    // It checks every answer against the schemas that it was shown.
    await client.listTools()
    return client
  }

  test('searches and asks, and finds the answers as their schemas say', async () => {
    const connected = await connect({ authorization: 'Bearer key' })
    const search = await connected.callTool({ name: 'search_knowledge', arguments: { query: 'quota' } })
    expect(search.structuredContent).toEqual(SEARCH_ANSWER)
    const chat = await connected.callTool({ name: 'chat_knowledge', arguments: { question: 'What counts?' } })
    expect(chat.structuredContent).toEqual(CHAT_ANSWER)
  })

  test('reads a refusal, with its code', async () => {
    const connected = await connect({ authorization: 'Bearer key' })
    const refused = await connected.callTool({ name: 'search_knowledge', arguments: { query: 'ab' } })
    expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'QUERY_TOO_SHORT' } })
  })

  test('reads that a key is needed', async () => {
    const connected = await connect({})
    const refused = await connected.callTool({
      name: 'chat_knowledge',
      arguments: { question: 'What counts?' },
    })
    expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'unauthorized' } })
  })
})
