import { afterEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import type { ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import { createInProcessBus } from '../../platform/bus/in-process-bus.ts'
import { putVerdict, refusalOf, setUpDesk, sim } from './desk.fixture.ts'
import type { Desk } from './desk.ts'
import { createRemoteDesk, serveDesk } from './remote-desk.ts'

const faults: ServiceError[] = []
const bus = createInProcessBus({ now: () => 0, report: (fault) => void faults.push(fault) })
let serving = new AbortController()
afterEach(() => {
  serving.abort()
  serving = new AbortController()
})

/** The same desk, asked directly and over the bus. */
function bothWays(): { local: Desk; remote: Desk } {
  const { desk, board } = setUpDesk()
  putVerdict(board, sim('BTC'), { call: 'SELL', confidence: 58 })
  serveDesk(bus, desk, serving.signal)
  return { local: desk, remote: createRemoteDesk(bus) }
}

describe('a desk in another process', () => {
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
    ['scan_trade_calls', { universe_by: 'open_interest' }],
  ]
  test.each(refused)('refuses %s %j as one in this process does', async (tool, request) => {
    const { local, remote } = bothWays()
    const [here, there] = await Promise.all(
      [local, remote].map((desk) => refusalOf(desk.answer(tool, request))),
    )
    expect(there).toBeInstanceOf(ServiceError)
    expect({ code: there?.code, message: there?.message, details: there?.details }).toEqual({
      code: here?.code,
      message: here?.message,
      details: here?.details,
    })
  })

  test('a fault of the engine is not told in detail, but reported there', async () => {
    const failing: Desk = { answer: () => Promise.reject(new TypeError('a bug')) }
    serveDesk(bus, failing, serving.signal)
    const before = faults.length
    const refusal = await refusalOf(createRemoteDesk(bus).answer('get_trade_call', { coin: 'BTC' }))
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
      message: 'no process that computes verdicts answered: nobody answers requests to engine.tool',
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
