import { afterEach, describe, expect, test } from 'vitest'
import type { Exchange, Series, Universe } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import type { Bus } from '../../runtime/bus/bus.ts'
import { createInProcessBus } from '../../runtime/bus/in-process-bus.ts'
import { loadModel } from '../model/verdict-model.ts'
import { remoteHandlerOver } from './remote-tool-handler.fixture.ts'
import { serveTools } from './remote-tool-handler.ts'
import { putVerdict, refusalOf, setUpToolHandler, sim } from './tool-handler.fixture.ts'
import type { ToolHandler } from './tool-handler.ts'

const faults: ServiceError[] = []
const bus = createInProcessBus({ report: (fault) => void faults.push(fault) })
let serving = new AbortController()
afterEach(() => {
  serving.abort()
  serving = new AbortController()
})

/** The same tool handler, asked directly and over the bus. */
function bothWays(): { local: ToolHandler; remote: ToolHandler } {
  const { toolHandler, board } = setUpToolHandler()
  putVerdict(board, sim('BTC'), { call: 'SELL', confidence: 58 })
  serveTools(bus, toolHandler, serving.signal)
  return { local: toolHandler, remote: remoteHandlerOver(bus) }
}

describe('a tool handler in another process', () => {
  const answered: readonly (readonly [ToolName, unknown])[] = [
    ['get_trade_call', { coin: 'btcusdt' }],
    ['get_trade_call', { coin: 'SOL', timeframe: '1d', include_factors: false }],
    ['get_market_regime', { coin: 'BTC' }],
    ['scan_trade_calls', { timeframe: '1h', include_holds: true }],
    ['scan_funding_arb', { coins: ['BTC'] }],
  ]
  test.each(answered)('answers %s %j as one in this process does', async (tool, request) => {
    const { local, remote } = bothWays()
    expect(await remote.answer(tool, request)).toEqual(await local.answer(tool, request))
  })

  const refused: readonly (readonly [ToolName, unknown])[] = [
    ['get_trade_call', undefined],
    ['get_trade_call', { coin: 'BTC', leverage: 5 }],
    ['get_trade_call', JSON.parse('{"coin":"BTC","__proto__":{}}')],
    ['get_trade_call', { coin: 'BTC\ud800' }],
    ['get_trade_call', { coin: 'BTC', timeframe: Number.NaN }],
    ['get_trade_call', { coin: 'PEPE' }],
    ['get_trade_call', { coin: 'BTC', exchange: 'NYSE' }],
    ['get_market_regime', { coin: 'BTC', timeframe: '7m' }],
    ['scan_trade_calls', { rank_by: 'expected_return' }],
  ]
  test.each(refused)('refuses %s %j as one in this process does', async (tool, request) => {
    const { local, remote } = bothWays()
    const [here, there] = await Promise.all(
      [local, remote].map((toolHandler) => refusalOf(toolHandler.answer(tool, request))),
    )
    expect(there).toBeInstanceOf(ServiceError)
    expect({ code: there?.code, message: there?.message, details: there?.details }).toEqual({
      code: here?.code,
      message: here?.message,
      details: here?.details,
    })
  })

  test('a fault of the engine is not told in detail, but reported there', async () => {
    const failing: ToolHandler = { answer: () => Promise.reject(new TypeError('a bug')) }
    serveTools(bus, failing, serving.signal)
    const before = faults.length
    const refusal = await refusalOf(remoteHandlerOver(bus).answer('get_trade_call', { coin: 'BTC' }))
    expect(refusal.code).toBe('internal_error')
    expect(refusal.message).not.toContain('bug')
    expect(faults.slice(before).map(({ cause }) => cause)).toEqual([new TypeError('a bug')])
  })

  test('that nobody runs is an engine that is not there, and nobody waits for it', async () => {
    const { remote } = bothWays()
    expect(await remote.answer('get_trade_call', { coin: 'BTC' })).toMatchObject({ coin: 'BTC' })
    serving.abort()
    const refusal = await refusalOf(remote.answer('get_trade_call', { coin: 'BTC' }))
    expect(refusal).toMatchObject({
      code: 'engine_unavailable',
      message: 'No process that computes verdicts answers at the moment.',
    })
    expect((await refusalOf(remote.answer('get_trade_call', {}))).code).toBe('invalid_request')
  })

  test('names of tools that do not exist are refused where they arrive', async () => {
    bothWays()
    const refusal = await refusalOf(
      bus.request('engine.tool', { tool: 'constructor', request: {} }, { timeoutMs: 1_000 }),
    )
    expect(refusal).toMatchObject({
      code: 'unknown_tool',
      details: {
        given: 'constructor',
        available: ['get_trade_call', 'get_market_regime', 'scan_trade_calls', 'scan_funding_arb'],
      },
    })
  })
})

describe('several engines', () => {
  type Answer = () => Promise<{ call: string }>
  const well: Answer = async () => ({ call: 'SELL' })
  const frozen: Answer = () => new Promise(() => undefined)
  const failing =
    (code: 'dependency_unavailable' | 'shutting_down' | 'unknown_coin'): Answer =>
    () =>
      Promise.reject(new ServiceError(code))

  /** A handler over engines that are asked one after the other. */
  function over(...engines: Answer[]) {
    const left = [...engines]
    const wire: Pick<Bus, 'request'> = {
      request: () => (left.shift() ?? failing('dependency_unavailable'))(),
    }
    const remote = remoteHandlerOver(wire, { sleep: async () => undefined })
    const ask = () => remote.answer('get_trade_call', { coin: 'BTC' })
    return { remote, ask }
  }

  test.each([
    ['answers', well],
    ['is silent', frozen],
    ['is stopping', failing('shutting_down')],
  ])('one that %s leaves the call answered', async (_how, first) => {
    const world = over(first, well)
    expect(await world.ask()).toEqual({ call: 'SELL' })
    expect(world.remote.problem()).toBeUndefined()
  })

  test('that are all silent or stopping refuse the call, and say so to the operator until one answers', async () => {
    const { ask, remote } = over(failing('shutting_down'), failing('dependency_unavailable'), well)
    expect(await refusalOf(ask())).toMatchObject({ code: 'engine_unavailable' })
    expect(remote.problem()).toBeDefined()
    await ask()
    expect(remote.problem()).toBeUndefined()
  })

  test('a refusal of one is the answer', async () => {
    expect(await refusalOf(over(failing('unknown_coin'), well).ask())).toMatchObject({ code: 'unknown_coin' })
  })
})

const ranking = (rankedAt: number): Universe => ({
  exchange: 'SIM',
  rankedAt,
  coins: ['BTC', 'ETH'].map((coin, index) => ({
    coin,
    quoteVolume24h: 1_000 - index,
    change24h: null,
  })),
})

describe('the newest verdict in the log', () => {
  const barClose = Date.UTC(2026, 0, 1)
  const verdict = aVerdict({ coin: 'BTC', timeframe: '1h', call: 'BUY', barClose })

  function held(clock: () => number) {
    let asked = 0
    const away: Pick<Bus, 'request'> = {
      request: () => {
        asked += 1
        return Promise.reject(
          new ServiceError('dependency_unavailable', { message: 'NATS at 10.0.0.7:4222 is away' }),
        )
      },
    }
    const newest = {
      verdict: ({ coin, exchange }: Series) => (coin === 'BTC' && exchange === 'SIM' ? verdict : undefined),
      universe: async (exchange: Exchange) => (exchange === 'SIM' ? ranking(barClose) : undefined),
      clock,
      model: loadModel(),
      withdrawn: () => undefined,
    }
    const remote = remoteHandlerOver(away, { newest, defaultExchange: 'SIM' })
    return { remote, asked: () => asked }
  }

  test('answers without any engine until the next bar closes, and not a moment longer', async () => {
    let now = barClose
    const { remote } = held(() => now)
    for (const age of [0, 1, HOUR_MS / 2, HOUR_MS - 1]) {
      now = barClose + age
      expect(await remote.answer('get_trade_call', { coin: 'BTC' })).toMatchObject({
        call: 'BUY',
        verdict_id: verdict.verdictId,
        data_age_ms: age,
        verify_url: `https://signals.example.com/verify/${verdict.verdictId}`,
      })
    }
    now = barClose + HOUR_MS
    const refusal = await refusalOf(remote.answer('get_trade_call', { coin: 'BTC' }))
    expect(refusal.code).toBe('engine_unavailable')
    expect(refusal.message).not.toContain('10.0.0.7')
  })

  test('tells a regime where no engine does, without what only an engine measures, until the next bar closes', async () => {
    let now = barClose
    const { remote, asked } = held(() => now)
    const { metrics, ...answer } = await remote.answer('get_market_regime', { coin: 'BTC', timeframe: '1h' })
    expect(answer).toMatchObject({ regime: verdict.regime, regime_strength: verdict.regimeStrength })
    expect(new Set(Object.values(metrics))).toEqual(new Set([null]))
    expect(asked()).toBeGreaterThan(0)
    now += HOUR_MS
    const late = await refusalOf(remote.answer('get_market_regime', { coin: 'BTC', timeframe: '1h' }))
    expect(late.code).toBe('engine_unavailable')
  })

  test('is a row of a scan where no engine does one, which names the coins without a fresh one', async () => {
    let now = barClose
    const { remote } = held(() => now)
    const scan = await remote.answer('scan_trade_calls', { timeframe: '1h' })
    expect(scan).toMatchObject({ exchange: 'SIM', timeframe: '1h', scanned: 1, holds: 0 })
    expect(scan.calls).toMatchObject([{ rank: 1, coin: 'BTC', call: 'BUY', verdict_id: verdict.verdictId }])
    expect(scan.errors).toMatchObject([{ coin: 'ETH', code: 'engine_unavailable' }])
    const wrong = await refusalOf(
      remote.answer('scan_trade_calls', { rank_by: 'expected_return', timeframe: '1h' }),
    )
    expect(wrong.code).toBe('invalid_request')
    now += HOUR_MS
    const late = await refusalOf(remote.answer('scan_trade_calls', { timeframe: '1h' }))
    expect(late.code).toBe('engine_unavailable')
  })

  test('is asked for at an engine now and then, so that a series goes on being followed', async () => {
    const { remote, asked } = held(() => barClose)
    for (let n = 0; n < 50; n++) await remote.answer('get_trade_call', { coin: 'BTC' })
    expect(asked()).toBeGreaterThan(0)
    expect(asked()).toBeLessThanOrEqual(3)
  })

  test.each([
    ['get_trade_call', { coin: 'SOL' }],
    ['get_trade_call', { coin: 'BTC', exchange: 'HL' }],
    ['get_market_regime', { coin: 'SOL' }],
    ['scan_trade_calls', { exchange: 'HL' }],
    ['scan_funding_arb', {}],
  ] as const)('says nothing of %s %j', async (tool, request) => {
    const { remote } = held(() => barClose)
    expect(await refusalOf(remote.answer(tool, request))).toMatchObject({ code: 'engine_unavailable' })
  })
})
