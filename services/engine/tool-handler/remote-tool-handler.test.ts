import { afterEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import type { Series } from '../../../contracts/series.ts'
import { HOUR_MS } from '../../../contracts/timeframes.ts'
import type { ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import type { Universe } from '../../../contracts/universe.ts'
import { aVerdict } from '../../../contracts/verdict.fixture.ts'
import { createFakeClock } from '../../../testing/time/fake-clock.fixture.ts'
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
  serveTools(bus, toolHandler, { name: 'one', signal: serving.signal })
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
    serveTools(bus, failing, { name: 'one', signal: serving.signal })
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
  /** A bus of its own, a clock that sleepers wake by, and engines that answer, stand still or are stopping. */
  function world() {
    const ending = new AbortController()
    const own = createInProcessBus({ report: (fault) => void faults.push(fault) })
    const time = createFakeClock(0)
    const asked: Record<string, number> = {}
    const states: Record<string, 'well' | 'frozen' | 'stopping'> = {}
    const wire: Pick<Bus, 'request'> = {
      // What a process says that stands still never comes; whoever asks gives up when the time is over.
      request: (subject, body, options) =>
        Promise.race([
          own.request(subject, body, options),
          time.sleep(options.timeoutMs, ending.signal).then(() => {
            throw new ServiceError('bus_unavailable', { message: 'no answer' })
          }),
        ]),
    }
    for (const name of ['one', 'two']) {
      const { toolHandler, board } = setUpToolHandler()
      putVerdict(board, sim('BTC'), { call: 'SELL', confidence: 58 })
      states[name] = 'well'
      asked[name] = 0
      const unlessFrozen =
        (serve: Bus['serve']): Bus['serve'] =>
        (subject, handler, options) =>
          serve(
            subject,
            (body) => (states[name] === 'frozen' ? new Promise(() => undefined) : handler(body)),
            options,
          )
      const facing: ToolHandler = {
        answer: (...request) => {
          asked[name] = (asked[name] ?? 0) + 1
          if (states[name] === 'stopping') throw new ServiceError('shutting_down')
          return toolHandler.answer(...request)
        },
      }
      serveTools({ ...own, serve: unlessFrozen((...given) => own.serve(...given)) }, facing, {
        name,
        signal: ending.signal,
      })
    }
    const remote = remoteHandlerOver(wire, { elapsed: time.elapsed, sleep: time.sleep })
    const looking = remote.run(ending.signal)
    return {
      time,
      asked,
      states,
      remote,
      call: () => remote.answer('get_trade_call', { coin: 'BTC' }),
      stop: async () => {
        ending.abort()
        await time.pass(20_000, 5_000)
        await looking
      },
    }
  }

  test('share the calls between them', async () => {
    const { asked, call, time, remote, stop } = world()
    await time.pass(3_000)
    expect(remote.health()).toEqual({ answering: 2, silent: 0 })
    for (let n = 0; n < 20; n++) await call()
    expect(asked).toEqual({ one: 10, two: 10 })
    await stop()
  })

  test('one that stands still costs the first call half a second, and gets none of the others', async () => {
    const { states, asked, call, time, remote, stop } = world()
    await time.pass(3_000)
    states['one'] = 'frozen'
    const first = [call(), call()]
    await time.pass(600, 100)
    expect(await Promise.all(first)).toMatchObject([{ call: 'SELL' }, { call: 'SELL' }])
    const before = asked['two'] ?? 0
    for (let n = 0; n < 20; n++) await call()
    expect(asked['two']).toBe(before + 20)
    await time.pass(3_000)
    expect(remote.health()).toEqual({ answering: 1, silent: 1 })
    states['one'] = 'well'
    await time.pass(5_000)
    expect(remote.health()).toEqual({ answering: 2, silent: 0 })
    await stop()
  })

  test('that one of them is stopping is nothing that a caller hears of', async () => {
    const { states, asked, call, time, stop } = world()
    await time.pass(3_000)
    states['one'] = 'stopping'
    for (let n = 0; n < 10; n++) expect(await call()).toMatchObject({ call: 'SELL' })
    expect(asked['one']).toBeGreaterThan(0)
    states['two'] = 'stopping'
    expect(await refusalOf(call())).toMatchObject({ code: 'engine_unavailable' })
    await stop()
  })

  test('where all of them stand still, a call is refused within two seconds', async () => {
    const { states, call, time, remote, stop } = world()
    await time.pass(3_000)
    Object.assign(states, { one: 'frozen', two: 'frozen' })
    await time.pass(5_000)
    expect(remote.health()).toEqual({ answering: 0, silent: 2 })
    const refusal = refusalOf(call())
    await time.pass(2_000, 100)
    expect(await refusal).toMatchObject({ code: 'engine_unavailable' })
    await stop()
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
          new ServiceError('bus_unavailable', { message: 'NATS at 10.0.0.7:4222 is away' }),
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
