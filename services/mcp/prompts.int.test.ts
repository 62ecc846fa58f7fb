import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSignalClient } from '../../clients/typescript/src/index.ts'
import { type OwnService, startOwnService } from '../composition/own-service.fixture.ts'
import { PROMPTS } from './prompts.ts'

const OPERATOR_TOKEN = 'operator-token-for-tests'
let service: OwnService
let endpoint: Server
let key: string
const taken: string[] = []
beforeAll(async () => {
  endpoint = createServer((request, response) => {
    taken.push(String(request.headers['x-service-event']))
    response.writeHead(204).end()
  }).listen(0, '127.0.0.1')
  await new Promise((done) => endpoint.once('listening', done))
  service = await startOwnService({
    OPERATOR_TOKEN,
    FRESH: 'false',
    COINS: 'BTC,ETH',
    TIMEFRAMES: '1h',
    WEBHOOKS_ALLOW_PRIVATE: 'true',
  })
  const operator = createSignalClient({ url: service.url, apiKey: OPERATOR_TOKEN })
  ;({ key } = (await operator.post('/operator/keys', { tier: 'starter' })) as { key: string })
}, 120_000)
afterAll(async () => {
  await service?.stop()
  endpoint.closeAllConnections()
  endpoint.close()
})

interface Answer {
  readonly result: {
    readonly prompts: readonly {
      readonly name: string
      readonly arguments: readonly { readonly name: string }[]
    }[]
    readonly messages: readonly { readonly content: { readonly text: string } }[]
    readonly structuredContent: Readonly<Record<string, unknown>>
    readonly isError?: boolean
  }
  readonly error?: { readonly code: number; readonly message: string }
}

/** A message in the handshake's era, or in the stateless one. */
async function send(method: string, params: object, isModern = false): Promise<Answer> {
  const version = isModern ? '2026-07-28' : '2025-11-25'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const { name } = params as { name?: string }
  const answer = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${key}`,
      'mcp-protocol-version': version,
      ...(isModern && { 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: isModern ? { ...params, _meta: meta } : params,
    }),
  })
  return (await answer.json()) as Answer
}

test.each([
  ['with a handshake', false],
  ['stateless', true],
])('prompts are listed and given, %s', async (_era, isModern) => {
  const { result } = await send('prompts/list', {}, isModern)
  expect(result.prompts.map(({ name }) => name)).toEqual(PROMPTS.map(({ name }) => name))
  const given = await send('prompts/get', { name: 'read-one-coin', arguments: { coin: 'BTC' } }, isModern)
  expect(given.result.messages[0]?.content.text).toContain('get_trade_call {"coin":"BTC","timeframe":"1h"}')
  const refused = await send('prompts/get', { name: 'read-one-coin', arguments: {} }, isModern)
  expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining('needs coin') })
})

test.each(PROMPTS.map((prompt) => [prompt.name, prompt] as const))(
  'every call that %s asks for is answered',
  async (name, { fields }) => {
    const hook = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/hook`
    const examples = Object.fromEntries(
      Object.entries(fields).map(([field, { example }]) => [field, field === 'url' ? hook : example]),
    )
    const { result } = await send('prompts/get', { name, arguments: examples })
    const lines = [...(result.messages[0]?.content.text ?? '').matchAll(/^\d\. (\w+) (\{.*\})$/gm)]
    expect(lines.length).toBeGreaterThan(0)
    const answers = new Map<string, Readonly<Record<string, unknown>>>()
    for (const [, tool = '', text = ''] of lines) {
      const request = text.replaceAll(/\{(\w+)\.(\w+)\}/g, (_all, of: string, field: string) =>
        String(answers.get(of)?.[field]),
      )
      const answer = await send('tools/call', { name: tool, arguments: JSON.parse(request) as object })
      expect([tool, answer.error, answer.result.isError ?? false, answer.result.structuredContent]).toEqual([
        tool,
        undefined,
        false,
        expect.anything(),
      ])
      answers.set(tool, answer.result.structuredContent)
    }
  },
)

test('the sample that a prompt asks for arrived', () => {
  expect(taken).toContain('trade_call')
})
