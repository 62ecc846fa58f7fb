import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import fastify, { type FastifyInstance } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { mcpServer } from '../mcp/mcp-server.ts'
import { fakeCalls, KEYS, mcpOptions } from '../mcp/testing/mcp-edge.fixture.ts'
import type { ToolCall } from '../tool-calls/tool-call.ts'

const EXAMPLES = join(import.meta.dirname, '../../docs/examples')
const hasPython = spawnSync('python3', ['--version']).status === 0
const pythonReason = hasPython ? '' : ' (skipped: python3 not on PATH)'
const BOTS = [
  { language: 'TypeScript', command: process.execPath, file: 'bot.ts', isThere: true },
  { language: `Python${pythonReason}`, command: 'python3', file: 'bot.py', isThere: hasPython },
]

let app: FastifyInstance
let url: string
let asked: ToolCall[]
/** The edge's answers to the next requests before it lets one through. */
let problems: ('limit' | 'hang up')[]
let refusals: ServiceError[]
let altered: (body: JsonObject) => JsonObject

beforeEach(async () => {
  const calls = fakeCalls()
  asked = []
  problems = []
  refusals = []
  altered = (body) => body
  app = fastify().setValidatorCompiler(validatorCompiler).setSerializerCompiler(serializerCompiler)
  app.addHook('onRequest', async (request, reply) => {
    const problem = problems.shift()
    if (problem === 'hang up') request.raw.socket.destroy()
    if (problem === 'limit')
      await reply.code(429).header('retry-after', '1').send({ code: 'rate_limited', message: '…' })
  })
  const call = async (given: ToolCall) => {
    asked.push(given)
    const refusal = refusals.shift()
    if (refusal !== undefined) throw refusal
    const answer = await calls.path.call(given)
    return { ...answer, body: altered(answer.body) }
  }
  await app.register(mcpServer, mcpOptions({ calls: { call } }))
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterEach(() => app.close())

describe.each(BOTS)('the bot in $language', ({ command, file, isThere }) => {
  const run = (
    args: readonly string[],
    key = 'sk_live_example',
  ): Promise<{ code: number; out: string; err: string }> =>
    new Promise((resolve) => {
      const environment = { PATH: process.env.PATH, SIGNAL_URL: url, SIGNAL_API_KEY: key }
      execFile(command, [join(EXAMPLES, file), ...args], { env: environment }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
      )
    })

  test.skipIf(!isThere)('prints the call of a series, asked for with its key', async () => {
    const { code, out, err } = await run(['ETH', '4h', '--once'])
    expect(err).toBe('')
    expect(code).toBe(0)
    expect(out).toMatch(/^\S+Z ETH 4h (BUY|SELL|HOLD) \d+ % [A-Z_]+ at [\d.]+, 9999 calls left\n$/)
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({
      tool: 'get_trade_call',
      request: { coin: 'ETH', timeframe: '4h' },
      authorization: 'Bearer sk_live_example',
      idempotencyKey: expect.stringMatching(/^[\da-f-]{36}$/),
    })
  })

  test.skipIf(!isThere)('asks again after a limit and a lost connection, and says so', async () => {
    problems = ['limit', 'hang up']
    const { code, out, err } = await run(['BTC', '--once'])
    expect([code, out.split('\n').length]).toEqual([0, 2])
    expect(err.split('\n').filter((line) => line.includes('trying again in'))).toHaveLength(2)
    expect(err).toContain(`no answer from ${url}`)
    expect(new Set(asked.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
  })

  test.skipIf(!isThere)('asks again where the store was away, as the same request', async () => {
    refusals = [new ServiceError('store_unavailable')]
    const { code, err } = await run(['BTC', '--once'])
    expect([code, err.includes('store')]).toEqual([0, true])
    expect(asked).toHaveLength(2)
    expect(new Set(asked.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
  })

  test.skipIf(!isThere)('says that nobody answers, and ends', async () => {
    await app.close()
    const { code, out, err } = await run(['BTC', '--once'])
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(`no answer from ${url}`)
    expect(err).toMatch(/refused/i)
  })

  test.skipIf(!isThere).each([[[]], [['--once']], [['BTC', '1h', '4h']], [['BTC', '--twice']]])(
    'with the arguments %j says how it is used',
    async (args) => {
      const { code, out, err } = await run(args)
      expect([code, out]).toEqual([2, ''])
      expect(err).toMatch(/^usage: bot/)
      expect(asked).toEqual([])
    },
  )

  test.skipIf(!isThere)('ends with 1 where its key is none, before it acts on a call', async () => {
    const auth = { outcome: 'MALFORMED' }
    altered = (body) => ({ ...body, _service: { ...(body['_service'] as JsonObject), auth } })
    const { code, out, err } = await run(['BTC', '--once'], 'not-a-key')
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^the key was not applied: MALFORMED.*SIGNAL_API_KEY/)
  })

  test.skipIf(!isThere)('says once why no call is made at a timeframe', async () => {
    const reasoning = 'HOLD, because no skill was shown at 4h.'
    altered = (body) => ({ ...body, call: 'HOLD', confidence: 50, reasoning })
    const { code, out, err } = await run(['BTC', '4h', '--once'])
    expect([code, out.split('\n').length]).toEqual([0, 2])
    expect(err).toBe(`no call is made at 4h for now: ${reasoning}\n`)
  })

  test.skipIf(!isThere)(
    'stops with what happened and what to do where trying again would not help',
    async () => {
      const unknownKey = await run(['BTC', '--once'], KEYS.unknown.slice('Bearer '.length))
      expect([unknownKey.code, unknownKey.out]).toEqual([1, ''])
      expect(unknownKey.err).toContain('key_unknown')
      refusals = [new ServiceError('quota_exhausted')]
      const exhausted = await run(['BTC', '--once'])
      expect([exhausted.code, exhausted.out]).toEqual([1, ''])
      expect(exhausted.err).toContain('quota_exhausted')
      expect(exhausted.err).toContain('choose a larger plan')
      expect(asked).toHaveLength(2)
    },
  )
})
