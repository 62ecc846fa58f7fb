import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { EXCHANGES } from '../domain/series.ts'
import { TIMEFRAMES } from '../domain/timeframes.ts'
import { isToolName, TOOLS, type ToolName } from './tool-catalogue.ts'

const requestSchema = (name: ToolName) => z.toJSONSchema(TOOLS[name].request, { io: 'input' })

describe('requests', () => {
  test('fill in what is left out', () => {
    expect(TOOLS.get_trade_call.request.parse({ coin: ' btc ' })).toEqual({
      coin: 'BTC',
      timeframe: '1h',
      include_factors: true,
    })
    expect(TOOLS.get_market_regime.request.parse({ coin: 'ETH' })).toEqual({ coin: 'ETH', timeframe: '4h' })
    expect(TOOLS.scan_trade_calls.request.parse({})).toEqual({
      timeframe: '1h',
      top_n: 20,
      min_confidence: 0,
      include_holds: false,
      limit: 10,
      rank_by: 'strength',
    })
    expect(TOOLS.scan_funding_arb.request.parse({})).toEqual({
      min_net_bps: 0,
      holding_hours: 168,
      limit: 10,
      taker_fee_bps: 5,
    })
  })

  test('pass on what does not exist, so that the tool can say what does', () => {
    const request = { coin: 'NOPE', timeframe: '7m', exchange: 'nyse' }
    expect(TOOLS.get_trade_call.request.parse(request)).toMatchObject({ timeframe: '7m', exchange: 'NYSE' })
  })

  test.each([
    ['get_trade_call', {}],
    ['get_trade_call', { coin: '' }],
    ['get_trade_call', { coin: 'B'.repeat(33) }],
    ['get_trade_call', { coin: 7 }],
    ['get_trade_call', { coin: 'BTC', surprise: true }],
    ['scan_trade_calls', { top_n: 0 }],
    ['scan_trade_calls', { top_n: 101 }],
    ['scan_trade_calls', { min_confidence: 1.5 }],
    ['scan_funding_arb', { limit: 201 }],
    ['scan_funding_arb', { coins: [] }],
    ['scan_funding_arb', { holding_hours: 0 }],
  ] as const)('refuse %s %j', (name, request) => {
    expect(TOOLS[name].request.safeParse(request).success).toBe(false)
  })

  test('show callers every exchange and timeframe', () => {
    const { properties } = requestSchema('get_trade_call')
    expect(properties?.exchange).toMatchObject({ type: 'string', enum: [...EXCHANGES] })
    expect(properties?.timeframe).toMatchObject({ enum: [...TIMEFRAMES], default: '1h' })
  })

  test.each(Object.keys(TOOLS).filter(isToolName))(
    'and answers of %s can be shown as JSON Schema',
    (name) => {
      expect(requestSchema(name)).toMatchObject({ type: 'object', additionalProperties: false })
      expect(z.toJSONSchema(TOOLS[name].response)).toMatchObject({ type: 'object' })
    },
  )
})
