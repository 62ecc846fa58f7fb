import { describe, expect, test } from 'vitest'
import { rankUniverse, type UniverseEntry } from '../../../contracts/domain/series.ts'
import { aVerdict } from '../../../contracts/domain/verdict.fixture.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { scanTradeCallsResponse } from '../../../contracts/tools/tool-schemas.ts'
import {
  BAR_CLOSE,
  METRICS,
  putBars,
  putVerdict,
  refusalOf,
  setUpToolHandler,
  sim,
  universeOf,
  untilAborted,
} from './tool-handler.fixture.ts'
import type { ToolHandlerOptions } from './tool-handler.ts'

describe('scan_trade_calls', () => {
  test('looks at the largest coins, those of nobody included, and ranks what they say', async () => {
    const { toolHandler, board, begun } = setUpToolHandler()
    putVerdict(board, sim('BTC'), { call: 'BUY', strength: 40 })
    putVerdict(board, sim('ETH'), {
      call: 'SELL',
      strength: 90,
      verdictId: '0190a000-0000-8000-8000-000000000002',
    })
    const answer = await toolHandler.answer('scan_trade_calls', { timeframe: '1h' })
    expect(answer).toMatchObject({
      exchange: 'SIM',
      timeframe: '1h',
      completed_at: '2025-01-02T00:00:20.000Z',
      universe_ranked_at: '2025-01-02T00:00:00.000Z',
      scanned: 3,
      holds: 1,
      errors: [],
    })
    expect(answer.calls.map(({ rank, coin, call }) => [rank, coin, call])).toEqual([
      [1, 'ETH', 'SELL'],
      [2, 'BTC', 'BUY'],
    ])
    expect(answer.calls[0]).toMatchObject({
      change_24h: 0.01,
      quote_volume_24h: 500_000,
      verify_url: 'https://signals.example/verify/0190a000-0000-8000-8000-000000000002',
    })
    expect(begun).toEqual(['SIM.SOL.1h'])
    expect(scanTradeCallsResponse.parse(answer)).toEqual(answer)
  })

  test('filters by confidence, adds the HOLDs on request, and gives no more rows than asked for', async () => {
    const { toolHandler, board } = setUpToolHandler()
    putVerdict(board, sim('BTC'), { call: 'BUY', confidence: 57 })
    putVerdict(board, sim('ETH'), { call: 'SELL', confidence: 53 })
    putVerdict(board, sim('SOL'), { call: 'HOLD', confidence: 57 })
    const scan = async (request: object) => {
      const { calls, scanned } = await toolHandler.answer('scan_trade_calls', { timeframe: '1h', ...request })
      return [scanned, ...calls.map(({ coin }) => coin)]
    }
    expect(await scan({ min_confidence: 57 })).toEqual([3, 'BTC'])
    expect(await scan({ min_confidence: 57, include_holds: true })).toEqual([3, 'BTC', 'SOL'])
    expect(await scan({ min_confidence: 61, include_holds: true })).toEqual([3])
    expect(await scan({ include_holds: true, limit: 2, rank_by: 'change' })).toEqual([3, 'SOL', 'ETH'])
    expect(await scan({ top_n: 1, include_holds: true })).toEqual([1, 'BTC'])
    const { forecast } = aVerdict()
    putVerdict(board, sim('SOL'), { forecast: forecast && { ...forecast, p90: 0.05 } })
    expect(await scan({ include_holds: true, limit: 1, rank_by: 'expected_range' })).toEqual([3, 'SOL'])
  })

  test('waits once for all that are not followed, and names those without a fresh verdict', async () => {
    const fixture = setUpToolHandler({
      universes: {
        of: async (exchange) => universeOf(exchange, ['BTC', 'ETH', 'SOL', '1000PEPE', 'SUSD', 'GONE']),
        newest: () => undefined,
      },
      async follow(series, signal) {
        fixture.begun.push(series.coin)
        if (series.coin === 'SUSD') throw new ServiceError('venue_unavailable', { message: 'no answer' })
        if (series.coin === '1000PEPE') putBars(fixture.board, series, 20, BAR_CLOSE)
        await untilAborted(signal)
      },
    })
    const { toolHandler, board, time, begun } = fixture
    putVerdict(board, sim('BTC'), { call: 'BUY' })
    putVerdict(board, sim('ETH'), { barClose: BAR_CLOSE - 10 * 3_600_000 })
    const answering = toolHandler.answer('scan_trade_calls', { timeframe: '1h' })
    await time.advance(LIMITS.onDemandWaitMs)
    const answer = await answering
    expect(begun.toSorted()).toEqual(['1000PEPE', 'SOL', 'SUSD'])
    expect(answer.calls.map(({ coin }) => coin)).toEqual(['BTC'])
    expect(answer.scanned).toBe(1)
    expect(answer.errors.map(({ coin, code }) => [coin, code])).toEqual([
      ['1000PEPE', 'insufficient_history'],
      ['ETH', 'stale_market_data'],
      ['GONE', 'unknown_coin'],
      ['SOL', 'series_loading'],
      ['SUSD', 'venue_unavailable'],
    ])
    expect(scanTradeCallsResponse.parse(answer)).toEqual(answer)
    expect(time.now()).toBe(1_000_000 + LIMITS.onDemandWaitMs)
  })

  const told = (change: Partial<UniverseEntry>[]) => ({
    universes: {
      of: async () =>
        rankUniverse(
          'SIM',
          BAR_CLOSE,
          change.map((one, at) => ({
            coin: ['BTC', 'ETH', 'SOL'][at] ?? '',
            quoteVolume24h: 3_000_000 - 1_000_000 * at,
            change24h: null,
            ...one,
          })),
        ),
      newest: () => undefined,
    },
  })
  const scanWith = async (change: Partial<ToolHandlerOptions>, request: object) => {
    const { toolHandler } = setUpToolHandler(change)
    const answer = await toolHandler.answer('scan_trade_calls', {
      timeframe: '1h',
      include_holds: true,
      ...request,
    })
    expect(scanTradeCallsResponse.parse(answer)).toEqual(answer)
    const rows = answer.calls.map(({ coin, lens_value: value }) => [coin, value])
    return [rows, answer.lens_note, ...(answer.note === null ? [] : [answer.note])]
  }

  test('takes and ranks coins by a lens, with its value in each row', async () => {
    const market = told([{ change24h: -0.05 }, { change24h: 0.02 }, { change24h: 0.3 }])
    const [gainers, losers] = [{ lens: 'gainers' }, { lens: 'losers' }]
    expect(await scanWith(market, { ...gainers, top_n: 2 })).toEqual([
      [
        ['SOL', 0.3],
        ['ETH', 0.02],
      ],
      null,
    ])
    expect(await scanWith(market, { ...losers, top_n: 1 })).toEqual([[['BTC', -0.05]], null])
    expect(await scanWith(market, { lens: 'volume', limit: 1 })).toEqual([[['BTC', 3_000_000]], null])
    expect((await scanWith(market, { lens: 'volatility', top_n: 2 }))[0]).toEqual([
      ['BTC', METRICS.atrPercent],
      ['ETH', METRICS.atrPercent],
    ])
    // Only what trades enough is looked at.
    expect(await scanWith(market, { ...gainers, min_liquidity_usd: 2_000_000 })).toEqual([
      [
        ['ETH', 0.02],
        ['BTC', -0.05],
      ],
      null,
    ])
    expect(await scanWith(market, { min_liquidity_usd: 9e9 })).toEqual([
      [],
      null,
      'No coin is above min_liquidity_usd: the largest, BTC, traded 3000000 in 24 hours.',
    ])
  })

  test('a value that is not known is null, comes last, and has its reason', async () => {
    const market = told([{}, { change24h: -0.5 }, {}])
    expect(await scanWith(market, { lens: 'gainers' })).toEqual([
      [
        ['ETH', -0.5],
        ['BTC', null],
        ['SOL', null],
      ],
      'Of 2 of 3 coins `lens_value` is null: SIM does not say their price of 24 hours before.',
    ])
    expect(await scanWith(market, { lens: 'rsi' }).catch(({ code }: ServiceError) => code)).toBe(
      'invalid_request',
    )
  })

  test('funding counts either way, and comes from what is known already', async () => {
    const market = told([{}, {}, {}])
    const rates = new Map([
      ['BTC', 0.1],
      ['ETH', -0.4],
    ])
    const funded = { ...market, fundingOf: ({ coin }: { coin: string }) => rates.get(coin) ?? null }
    const [rows, note] = await scanWith(funded, { lens: 'funding' })
    expect(rows).toEqual([
      ['ETH', -0.4],
      ['BTC', 0.1],
      ['SOL', null],
    ])
    expect(note).toMatch(/^Of 1 of 3 coins .* no settlement of late is known here/)
  })

  test('refuses what it cannot rank by, and names that do not exist', async () => {
    const { toolHandler } = setUpToolHandler()
    const scan = (request: object) => refusalOf(toolHandler.answer('scan_trade_calls', request))
    expect(await scan({ universe_by: 'volume' })).toMatchObject({ code: 'invalid_request' })
    expect(await scan({ rank_by: 'expected_return' })).toMatchObject({ code: 'invalid_request' })
    expect(await scan({ exchange: 'NYSE' })).toMatchObject({ code: 'unknown_exchange' })
    expect(await scan({ exchange: 'OKX', timeframe: '1m' })).toMatchObject({
      code: 'unknown_timeframe',
      details: { given: '1m', available: ['1h', '4h'] },
    })
  })

  test('a fault that is nobody’s refusal is not hidden among the errors of coins', async () => {
    const { board } = setUpToolHandler()
    const { toolHandler } = setUpToolHandler({
      board: {
        ...board,
        get: (series) => {
          if (series.coin === 'ETH') throw new TypeError('a bug')
          return board.get(series)
        },
      },
    })
    await expect(toolHandler.answer('scan_trade_calls', { timeframe: '1h' })).rejects.toThrow('a bug')
  })
})
