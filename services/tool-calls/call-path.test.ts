import { beforeEach, describe, expect, test } from 'vitest'
import { serviceBlockSchema } from '../../contracts/answers/service-block.ts'
import { ServiceError } from '../../contracts/errors/errors.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import { freeWindow, type Identity, planWindow } from '../accounts/index.ts'
import { aWorld, NOON, type World } from '../accounts/quota/testing/ledger.fixture.ts'
import { createCallPath } from './call-path.ts'
import type { CallPath, ToolAnswer, ToolCall } from './tool-call.ts'

const ACCOUNT = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55'
const KEY = '019abcde-7c00-7001-8000-00000000000a'
const PLAN = planWindow(NOON - 86_400_000, NOON + 86_400_000)
const OF_KEYS: Readonly<Record<string, Identity>> = {
  starter: { outcome: 'OK', accountId: ACCOUNT, keyId: KEY, tier: 'starter', window: PLAN },
  free: { outcome: 'OK', accountId: ACCOUNT, keyId: KEY, tier: 'free', window: freeWindow(NOON) },
  garbage: { outcome: 'MALFORMED' },
  revoked: { outcome: 'UNKNOWN' },
  later: { outcome: 'INDETERMINATE', reason: 'the index is behind' },
}

let world: World
let computed: unknown[]
let compute: (tool: string, request: unknown) => Promise<JsonObject>
let path: CallPath

const newPath = (): CallPath =>
  createCallPath({
    identify: async (authorization) => OF_KEYS[authorization ?? ''] ?? { outcome: 'ABSENT' },
    anonymousPayer: (address) => `anon-${address.replaceAll('.', '-')}`,
    ledger: world.ledger(),
    answer: (tool, request) => {
      computed.push([tool, request])
      return compute(tool, request)
    },
    market: 'simulated',
    version: '1.2.3',
    now: () => world.now,
  })

beforeEach(() => {
  world = aWorld()
  computed = []
  compute = async () => ({ call: 'HOLD', serial: computed.length })
  path = newPath()
})

const aCall = (change: Partial<ToolCall> = {}): ToolCall => ({
  tool: 'get_trade_call',
  request: { coin: 'BTC' },
  authorization: 'starter',
  address: '203.0.113.9',
  idempotencyKey: undefined,
  requestId: 'request-1',
  channel: 'http',
  ...change,
})
const call = (change: Partial<ToolCall> = {}) => path.call(aCall(change))
/** The service block of a call. */
const serviceOf = ({ body: { _service: service } }: ToolAnswer) => service
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  )

describe('an answer', () => {
  test.each([
    { name: 'is', answer: { call: 'HOLD', text: 'half “quoted” \\ }' } },
    { name: 'is, in the same order, where numbers are names', answer: { b: 1, 2: 'two', 1: 'one' } },
    { name: 'is, if it has a text at all, where there is nothing in it', answer: {} },
    {
      name: 'is, if it has a text at all, where it names the same field',
      answer: { _service: 1, call: 'BUY' },
    },
  ])('$name the same as text and as an object', async ({ answer }) => {
    compute = async () => answer
    for (const idempotencyKey of ['first', 'first', undefined]) {
      const { body, text } = await call({ idempotencyKey })
      expect(text?.text ?? JSON.stringify(body)).toBe(JSON.stringify(body))
    }
    expect((await call()).text === undefined).toBe(Object.keys(answer).length === 0 || '_service' in answer)
  })

  test('is the tool’s, with what the service says of the call', async () => {
    const { body, isReplay } = await call()
    const { _service, ...answer } = body
    expect(answer).toEqual({ call: 'HOLD', serial: 1 })
    expect(isReplay).toBe(false)
    expect(serviceBlockSchema.parse(_service)).toEqual({
      version: '1.2.3',
      tool: 'get_trade_call',
      request_id: 'request-1',
      market: 'simulated',
      auth: { outcome: 'OK', tier: 'starter' },
      quota: {
        remaining: 9_999,
        limit: 10_000,
        used: 1,
        resets_at: new Date(PLAN.to).toISOString(),
        daily: null,
      },
      notice: expect.stringContaining('not advice'),
    })
  })

  test('is that of the tool where it is asked for by an alias, in the log too', async () => {
    const first = await call({ idempotencyKey: 'once' })
    const second = await call({ idempotencyKey: 'once', tool: 'get_trade_signal' })
    const { tool } = serviceOf(second) as { tool: string }
    expect([second.isReplay, tool]).toEqual([true, 'get_trade_call'])
    expect(second.text?.text.split('"_service"')[0]).toBe(first.text?.text.split('"_service"')[0])
    await call({ tool: 'get_trade_signal' })
    const debit = { data: { tool: 'get_trade_call' } }
    expect(world.events()).toMatchObject([debit, debit])
  })

  test('is in the log with its debit when it is given', async () => {
    await call({ channel: 'mcp', traceparent: '00-1-2-01' })
    expect(world.events()).toMatchObject([
      {
        stream: `quota-${ACCOUNT}.${PLAN.id}`,
        data: {
          keyId: KEY,
          channel: 'mcp',
          tool: 'get_trade_call',
          answer: '{"call":"HOLD","serial":1}',
          used: 1,
        },
        meta: { correlationId: 'request-1', traceparent: '00-1-2-01' },
      },
    ])
  })

  test.each([
    ['without a key', undefined, 'ABSENT'],
    ['with what is no key', 'garbage', 'MALFORMED'],
  ])('%s is on the free allowance of the address', async (_, authorization, outcome) => {
    await call({ authorization, address: '203.0.113.9' })
    expect(serviceOf(await call({ authorization, address: '203.0.113.9' }))).toMatchObject({
      auth: { outcome, tier: 'free' },
      quota: {
        remaining: 98,
        limit: 200,
        used: 2,
        resets_at: '2026-12-01T00:00:00.000Z',
        daily: { remaining: 98, limit: 100, used: 2, resets_at: '2026-11-22T00:00:00.000Z' },
      },
    })
    const { auth, quota } = serviceOf(await call({ authorization, address: '203.0.113.10' })) as {
      auth: { note?: string }
      quota: object
    }
    expect(quota).toMatchObject({ used: 1 })
    expect(auth.note ?? 'none').toMatch(
      outcome === 'ABSENT' ? /^none$/ : /`Authorization` after the word `Bearer`/,
    )
  })

  test('counts whatever the verdict says, and a trace context that is none is left out', async () => {
    await call({ traceparent: 'x'.repeat(500) })
    expect(world.events()[0]?.meta).not.toHaveProperty('traceparent')
  })
})

describe('nothing is charged, and nothing computed,', () => {
  test.each([
    ['for a key that does not exist', { authorization: 'revoked' }, 'key_unknown'],
    ['for a key that cannot be checked', { authorization: 'later' }, 'key_unverifiable'],
    ['for a tool that does not exist', { tool: 'get_rich' }, 'unknown_tool'],
    ['for an idempotency key with a space', { idempotencyKey: 'a b' }, 'invalid_request'],
    ['for one that is empty', { idempotencyKey: '' }, 'invalid_request'],
    ['for one that is too long', { idempotencyKey: 'x'.repeat(256) }, 'invalid_request'],
    ['for one that is not ASCII', { idempotencyKey: 'schlüssel' }, 'invalid_request'],
    ['for a request that is no JSON', { request: undefined }, 'invalid_request'],
    [
      'for a request that is nested too deeply',
      { request: JSON.parse('['.repeat(9_999) + ']'.repeat(9_999)) },
      'invalid_request',
    ],
  ] as const)('%s', async (_, change, code) => {
    expect(await codeOf(call(change))).toBe(code)
    expect(computed).toEqual([])
    expect(world.events()).toEqual([])
  })
})

describe('a refusal of the tool', () => {
  test('costs nothing, and leaves its key for another try', async () => {
    compute = () => Promise.reject(new ServiceError('insufficient_history'))
    expect(await codeOf(call({ idempotencyKey: 'k' }))).toBe('insufficient_history')
    expect(world.events()).toEqual([])
    compute = async () => ({ call: 'BUY' })
    const { body, isReplay } = await call({ idempotencyKey: 'k' })
    expect(body).toMatchObject({ call: 'BUY', _service: { quota: { used: 1 } } })
    expect(isReplay).toBe(false)
  })
})

describe('the end of a quota', () => {
  test('says why a key did not count where something else was sent as one', async () => {
    const address = '203.0.113.77'
    for (let n = 0; n < 100; n++) await call({ authorization: undefined, address })
    const refusalOf = (authorization: string | undefined) =>
      call({ authorization, address }).catch((error: unknown) => error)
    expect(await refusalOf(undefined)).toMatchObject({
      code: 'quota_exhausted',
      message: expect.not.stringContaining('Bearer'),
    })
    expect(await refusalOf('garbage')).toMatchObject({
      code: 'quota_exhausted',
      message: expect.stringMatching(/^All 100 .*\. What came as a credential is no API key.*`Bearer`/),
      nextStep: expect.stringContaining('Wait until'),
      details: { tier: 'free', exhausted: 'day' },
    })
  })

  test('refuses what is beyond it without computing it, and a key used before is still answered', async () => {
    await call({ authorization: 'free', idempotencyKey: 'k' })
    for (let n = 1; n < 100; n++) await call({ authorization: 'free' })
    expect(await codeOf(call({ authorization: 'free' }))).toBe('quota_exhausted')
    expect(computed).toHaveLength(100)
    const { body, isReplay } = await call({ authorization: 'free', idempotencyKey: 'k' })
    expect(isReplay).toBe(true)
    expect(body).toMatchObject({ serial: 1, _service: { quota: { remaining: 0, used: 100 } } })
  })

  test('among calls that race is told to exactly those beyond it', async () => {
    const codes = await Promise.all(
      Array.from({ length: 150 }, () => codeOf(call({ authorization: 'free' }))),
    )
    expect(codes.filter((code) => code === 'no error')).toHaveLength(100)
    expect(codes.filter((code) => code === 'quota_exhausted')).toHaveLength(50)
  })
})

describe('a repeated call', () => {
  test('has the stored answer byte for byte, and a present word of the service', async () => {
    compute = async () => ({
      call: 'BUY',
      probability: 0.1 + 0.2,
      price: 1e21,
      nested: { b: 1, a: [null, -0.5] },
    })
    const first = await call({ idempotencyKey: 'k' })
    await call()
    world.now += 5_000
    for (const again of [
      await call({ idempotencyKey: 'k', requestId: 'request-2' }),
      await newPath().call(aCall({ idempotencyKey: 'k' })),
    ]) {
      const [{ _service: one, ...before }, { _service: two, ...after }] = [first.body, again.body]
      expect(JSON.stringify(after)).toBe(JSON.stringify(before))
      expect(again.isReplay).toBe(true)
      expect([one, two]).toMatchObject([{ quota: { used: 1 } }, { quota: { used: 2 } }])
    }
    expect(computed).toHaveLength(2)
    expect(world.events()).toHaveLength(2)
  })

  test('is the same whatever the order of its fields, and another with another value', async () => {
    await call({ idempotencyKey: 'k', request: { coin: 'BTC', timeframe: '4h' } })
    const { isReplay } = await call({ idempotencyKey: 'k', request: { timeframe: '4h', coin: 'BTC' } })
    expect(isReplay).toBe(true)
    const other = call({ idempotencyKey: 'k', request: { coin: 'BTC', timeframe: '1h' } })
    expect(await codeOf(other)).toBe('idempotency_mismatch')
    const otherTool = call({
      idempotencyKey: 'k',
      tool: 'get_market_regime',
      request: { coin: 'BTC', timeframe: '4h' },
    })
    expect(await codeOf(otherTool)).toBe('idempotency_mismatch')
  })

  test('while the first is under way waits for its answer', async () => {
    const gate = Promise.withResolvers<JsonObject>()
    compute = () => gate.promise
    const calls = [1, 2, 3].map((n) => call({ idempotencyKey: 'k', requestId: `request-${n}` }))
    const mismatch = codeOf(call({ idempotencyKey: 'k', request: { coin: 'ETH' } }))
    gate.resolve({ call: 'SELL' })
    const answers = await Promise.all(calls)
    expect(computed).toHaveLength(1)
    expect(answers.map(({ isReplay }) => isReplay)).toEqual([false, true, true])
    expect(answers.map(({ body }) => body.call)).toEqual(['SELL', 'SELL', 'SELL'])
    expect(answers.map(serviceOf)).toMatchObject([
      { request_id: 'request-1' },
      { request_id: 'request-2' },
      { request_id: 'request-3' },
    ])
    expect(await mismatch).toBe('idempotency_mismatch')
  })

  test('by another payer is another call', async () => {
    await call({ idempotencyKey: 'k' })
    const { isReplay } = await call({ idempotencyKey: 'k', authorization: undefined })
    expect(isReplay).toBe(false)
  })
})
