import { describe, expect, test } from 'vitest'
import { TIMEFRAMES, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { TOOLS, type ToolName } from '../../../contracts/tools/tool-catalogue.ts'
import {
  BAR_CLOSE,
  LISTINGS,
  MARKET_NOW,
  METRICS,
  monitoredOf,
  putBars,
  putVerdict,
  refusalOf,
  setUpToolHandler,
  sim,
  universeOf,
  untilAborted,
} from './tool-handler.fixture.ts'

const HOUR_MS = timeframeMs('1h')

describe('answers', () => {
  test('get_trade_call gives the verdict on the board with the age of its bar', async () => {
    const { toolHandler, board } = setUpToolHandler()
    const verdict = putVerdict(board, sim('BTC'), { call: 'BUY', confidence: 56, probability: 0.561 })
    const answer = await toolHandler.answer('get_trade_call', { coin: 'btc' })
    expect(answer).toMatchObject({
      call: 'BUY',
      confidence: 56,
      coin: 'BTC',
      timeframe: '1h',
      exchange: 'SIM',
      bar_close: '2025-01-02T00:00:00.000Z',
      valid_until: '2025-01-02T08:00:00.000Z',
      verify_url: `https://signals.example/verify/${verdict.verdictId}`,
      factors: verdict.factors,
      data_age_ms: 20_000,
    })
    const without = await toolHandler.answer('get_trade_call', { coin: 'BTC', include_factors: false })
    expect(without).toEqual({ ...answer, factors: [] })
    expect(answer).not.toHaveProperty('closes_higher')
    expect(answer).not.toHaveProperty('odds')
    expect(answer).toHaveProperty('unconfirmed', true)
  })

  test('get_market_regime gives what was measured at the bar', async () => {
    const answer = await setUpToolHandler().toolHandler.answer('get_market_regime', { coin: 'BTC' })
    expect(answer).toMatchObject({
      timeframe: '4h',
      regime: 'RANGING',
      regime_since: '2025-01-02T00:00:00.000Z',
      volatility_percentile: 0.4,
      percentile_bars: METRICS.percentileBars,
      direction: 'UP',
      liveliness: METRICS.liveliness,
      metrics: { rsi: METRICS.rsi14, adx: METRICS.adx14, ema_gap_atr: METRICS.emaGapAtr },
    })
  })

  test('scan_funding_arb is asked as of market time', async () => {
    const answer = await setUpToolHandler().toolHandler.answer('scan_funding_arb', { holding_hours: 24 })
    expect(answer).toMatchObject({
      completed_at: new Date(MARKET_NOW).toISOString(),
      holding_hours: 24,
      fees_bps: 20,
    })
  })

  const requests: readonly (readonly [ToolName, object])[] = [
    ['get_trade_call', { coin: 'BTC' }],
    ['get_market_regime', { coin: 'ETH', timeframe: '1d' }],
    ['scan_trade_calls', { include_holds: true }],
    ['scan_funding_arb', {}],
  ]
  test.each(requests)('of %s fit their schema, and nothing is left out of it', async (tool, request) => {
    const { toolHandler } = setUpToolHandler()
    const answer = await toolHandler.answer(tool, request)
    expect(TOOLS[tool].response.parse(answer)).toEqual(answer)
    expect(JSON.parse(JSON.stringify(answer))).toEqual(answer)
  })

  test('the default exchange is the first that was chosen, else the first monitored', async () => {
    const monitored = [sim('BTC'), { exchange: 'OKX', coin: 'BTC', timeframe: '1h' } as const]
    const exchangeOf = async (exchanges?: readonly ('SIM' | 'OKX')[]) => {
      const { toolHandler, board } = setUpToolHandler({
        monitored: monitoredOf(monitored),
        ...(exchanges && { exchanges }),
      })
      for (const series of monitored) putVerdict(board, series)
      return (await toolHandler.answer('get_trade_call', { coin: 'BTC' })).exchange
    }
    expect(await exchangeOf()).toBe('SIM')
    expect(await exchangeOf(['OKX', 'SIM'])).toBe('OKX')
  })

  test.each(['BTCUSDT', 'btc-usdt', 'BTC/USDT', 'BTC-PERP', 'BTC/USDT:USDT', ' btc '])(
    'the coin may be written as %j',
    async (coin) => {
      expect(await setUpToolHandler().toolHandler.answer('get_trade_call', { coin })).toMatchObject({
        coin: 'BTC',
      })
    },
  )

  test('a coin whose own name ends like a currency is itself', async () => {
    expect(await setUpToolHandler().toolHandler.answer('get_trade_call', { coin: 'SUSD' })).toMatchObject({
      coin: 'SUSD',
    })
  })

  test('a public address with a slash at its end makes no double one', async () => {
    const { toolHandler } = setUpToolHandler({ publicUrl: () => 'https://signals.example/' })
    const { verify_url } = await toolHandler.answer('get_trade_call', { coin: 'BTC' })
    expect(verify_url).toMatch(/^https:\/\/signals\.example\/verify\//)
  })
})

describe('names that do not exist', () => {
  test('an exchange', async () => {
    const { toolHandler } = setUpToolHandler()
    for (const exchange of ['NYSE', 'BYBIT', 'toString']) {
      const refusal = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'BTC', exchange }))
      expect(refusal).toMatchObject({
        code: 'unknown_exchange',
        details: { given: exchange.toUpperCase(), available: ['SIM', 'OKX'] },
      })
    }
  })

  test('an exchange that was chosen and lists nothing is silent, not unknown', async () => {
    const { toolHandler } = setUpToolHandler({ exchanges: ['SIM', 'BYBIT'] })
    const refusal = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'BTC', exchange: 'BYBIT' }))
    expect(refusal).toMatchObject({ code: 'venue_unavailable', details: { exchange: 'BYBIT' } })
  })

  test('a coin: the largest come first, and what may have been meant is said', async () => {
    const { toolHandler } = setUpToolHandler({
      universes: {
        of: async (exchange) => universeOf(exchange, []),
        newest: (exchange) => universeOf(exchange, ['SOL', 'GONE', 'BTC']),
      },
    })
    const refusal = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'pepeusdt' }))
    expect(refusal).toMatchObject({
      code: 'unknown_coin',
      message: 'there is no coin "PEPEUSDT" on SIM; did you mean 1000PEPE?',
      details: {
        given: 'PEPEUSDT',
        exchange: 'SIM',
        available: ['SOL', 'BTC', '1000PEPE', 'ETH', 'SUSD'],
        total: 5,
        did_you_mean: '1000PEPE',
      },
    })
    const far = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'ZZZZ' }))
    expect(far.details).not.toHaveProperty('did_you_mean')
  })

  test('of many coins a hundred are listed', async () => {
    const many = Array.from({ length: 250 }, (_, index) => ({ ...sim(`C${index}`), timeframes: TIMEFRAMES }))
    const { toolHandler } = setUpToolHandler({ listings: async () => many })
    const { details } = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'NOPE' }))
    expect(details?.available).toHaveLength(LIMITS.namesInRefusal)
    expect(details?.total).toBe(252)
  })

  test('a timeframe', async () => {
    const { toolHandler } = setUpToolHandler()
    const never = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'BTC', timeframe: '7m' }))
    expect(never).toMatchObject({
      code: 'unknown_timeframe',
      details: { given: '7m', available: [...TIMEFRAMES] },
    })
    const request = { coin: 'BTC', exchange: 'OKX', timeframe: '1m' }
    const notHere = await refusalOf(toolHandler.answer('get_market_regime', request))
    expect(notHere).toMatchObject({ code: 'unknown_timeframe', details: { available: ['1h', '4h'] } })
  })

  test('a market that cannot be listed is refused as it says, and asked again next time', async () => {
    const answers = [() => Promise.reject(new ServiceError('venue_unavailable')), async () => LISTINGS]
    const { toolHandler } = setUpToolHandler({
      listings: () => (answers.shift() ?? (async () => LISTINGS))(),
    })
    const first = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'SOL' }))
    expect(first.code).toBe('venue_unavailable')
    expect(await toolHandler.answer('get_trade_call', { coin: 'SOL' })).toMatchObject({ coin: 'SOL' })
  })
})

describe('requests that are none', () => {
  const hostile: readonly (readonly [string, unknown, string])[] = [
    ['nothing', undefined, 'coin'],
    ['null', null, 'coin'],
    ['text', 'BTC', 'the arguments'],
    ['a list', [{ coin: 'BTC' }], 'the arguments'],
    ['no coin', {}, 'coin'],
    ['a number for a coin', { coin: 7 }, 'coin'],
    ['an object for a coin', { coin: { toString: 'BTC' } }, 'coin'],
    ['a list of coins', { coin: ['BTC'] }, 'coin'],
    ['a huge coin', { coin: 'B'.repeat(60_000) }, 'coin'],
    ['half a character', { coin: 'BTC\ud800' }, 'coin'],
    ['an empty coin', { coin: '' }, 'coin'],
    ['a number for a timeframe', { coin: 'BTC', timeframe: 60 }, 'timeframe'],
    ['an unknown field', { coin: 'BTC', leverage: 5 }, 'leverage'],
    ['a prototype', JSON.parse('{"coin":"BTC","__proto__":{"timeframe":"4h"}}'), '__proto__'],
    ['a constructor', JSON.parse('{"coin":"BTC","constructor":{}}'), 'constructor'],
  ]
  test.each(hostile)('%s', async (_, request, field) => {
    const { toolHandler } = setUpToolHandler()
    for (const tool of ['get_trade_call', 'get_market_regime'] as const) {
      const refusal = await refusalOf(toolHandler.answer(tool, request))
      expect(refusal).toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining(`${tool}, ${field}: `),
        details: { fields: [{ field, problem: expect.stringMatching(/./) }] },
      })
      expect(JSON.stringify(refusal.details).length).toBeLessThan(1_000)
    }
  })

  test('however many fields are at fault, some are named', async () => {
    const request = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field${index}`, 1]))
    const { details } = await refusalOf(setUpToolHandler().toolHandler.answer('scan_trade_calls', request))
    expect(details?.fields).toHaveLength(20)
  })

  test.each([
    ['scan_trade_calls', { top_n: 0 }, 'top_n'],
    ['scan_trade_calls', { top_n: 'twenty' }, 'top_n'],
    ['scan_trade_calls', { rank_by: 'luck' }, 'rank_by'],
    ['scan_trade_calls', { limit: Number.NaN }, 'limit'],
    ['scan_funding_arb', { coins: ['BTC', 7] }, 'coins'],
    ['scan_funding_arb', { holding_hours: 1e9 }, 'holding_hours'],
  ] as const)('%s %j', async (tool, request, field) => {
    const refusal = await refusalOf(setUpToolHandler().toolHandler.answer(tool, request))
    expect(refusal).toMatchObject({ code: 'invalid_request', details: { fields: [{ field }] } })
  })
})

describe('bars that are too few', () => {
  test('are named with what is needed and which timeframes would do', async () => {
    const { toolHandler, board } = setUpToolHandler({ follow: (_series, signal) => untilAborted(signal) })
    putBars(board, sim('SOL', '12h'), 400)
    putVerdict(board, sim('SOL', '1d'))
    const refusal = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'SOL', timeframe: '12h' }))
    // 400 bars of 12h are 600 of 8h; the 1d series has a verdict, however it came by it.
    expect(refusal).toMatchObject({
      code: 'insufficient_history',
      details: {
        series: 'SIM.SOL.12h',
        bars: 400,
        bars_needed: 500,
        timeframes_that_work: ['1m', '3m', '5m', '15m', '30m', '1h', '2h', '4h', '8h', '1d'],
      },
    })
  })

  test('while they may still be loading the series is waited for', async () => {
    const { toolHandler, board, time } = setUpToolHandler()
    putBars(board, sim('BTC'), 400, BAR_CLOSE - 40 * HOUR_MS)
    const answering = toolHandler.answer('get_trade_call', { coin: 'BTC' })
    await time.advance(2_000)
    putVerdict(board, sim('BTC'), { confidence: 57 })
    await time.advance(100)
    expect(await answering).toMatchObject({ confidence: 57 })
  })

  test('a monitored series that is still loading when the time is over is loading', async () => {
    const { toolHandler, board, time } = setUpToolHandler()
    putBars(board, sim('BTC'), 400, BAR_CLOSE - 40 * HOUR_MS)
    const refused = refusalOf(toolHandler.answer('get_trade_call', { coin: 'BTC' }))
    await time.advance(LIMITS.onDemandWaitMs)
    expect(await refused).toMatchObject({ code: 'series_loading', details: { series: 'SIM.BTC.1h' } })
    expect(time.now()).toBe(1_000_000 + LIMITS.onDemandWaitMs)
  })
})

describe('stale data', () => {
  const limitMs = HOUR_MS + LIMITS.staleAfterMs
  const ageing = (ageMs: number) => {
    const { toolHandler, board } = setUpToolHandler({ clock: () => BAR_CLOSE + ageMs })
    putVerdict(board, sim('BTC'))
    return toolHandler.answer('get_trade_call', { coin: 'BTC' })
  }

  test('is answered from up to the limit, with its age in whole milliseconds', async () => {
    expect((await ageing(0)).data_age_ms).toBe(0)
    expect((await ageing(1_234.9)).data_age_ms).toBe(1_234)
    expect((await ageing(limitMs)).data_age_ms).toBe(limitMs)
  })

  test('past it is refused with the age', async () => {
    expect(await refusalOf(ageing(limitMs + 1))).toMatchObject({
      code: 'stale_market_data',
      details: { series: 'SIM.BTC.1h', data_age_ms: limitMs + 1, limit_ms: limitMs },
    })
  })

  test('is loading, and not stale, while the series is on its way to the present', async () => {
    const { toolHandler, board, time } = setUpToolHandler({ clock: () => BAR_CLOSE + 300 * HOUR_MS })
    putVerdict(board, sim('BTC'))
    const entry = board.get(sim('BTC'))
    if (entry !== undefined) board.put({ ...entry, isLive: false })
    const refused = refusalOf(toolHandler.answer('get_trade_call', { coin: 'BTC' }))
    await time.advance(LIMITS.onDemandWaitMs)
    expect(await refused).toMatchObject({ code: 'series_loading' })
    const answered = toolHandler.answer('get_trade_call', { coin: 'BTC' })
    await time.advance(LIMITS.onDemandWaitMs / 2)
    putVerdict(board, sim('BTC'), { barClose: BAR_CLOSE + 300 * HOUR_MS })
    await time.advance(LIMITS.onDemandWaitMs / 2)
    expect(await answered).toMatchObject({ coin: 'BTC', data_age_ms: 0 })
  })

  test('has no negative age where the log is ahead of the clock', async () => {
    expect((await ageing(-5_000)).data_age_ms).toBe(0)
  })

  test('may be later where the operator of a quick market says so', async () => {
    const { toolHandler } = setUpToolHandler({ clock: () => BAR_CLOSE + limitMs + 1, staleAfterMs: 600_000 })
    expect(await toolHandler.answer('get_trade_call', { coin: 'BTC' })).toMatchObject({ coin: 'BTC' })
  })
})

describe('a market without a present', () => {
  /** At full speed the feed's clock runs ahead of what is recorded. */
  const recorded = () => setUpToolHandler({ follow: undefined, clock: () => BAR_CLOSE + 900 * HOUR_MS })

  test('is judged by where the board is complete', async () => {
    const { toolHandler, board } = recorded()
    expect(await toolHandler.answer('get_trade_call', { coin: 'BTC' })).toMatchObject({ data_age_ms: 0 })
    putVerdict(board, sim('ETH'), { barClose: BAR_CLOSE - 5 * HOUR_MS })
    const refusal = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'ETH' }))
    expect(refusal).toMatchObject({ code: 'stale_market_data', details: { data_age_ms: 5 * HOUR_MS } })
  })

  test('answers from a series that is waiting while others are ahead', async () => {
    const { toolHandler, board } = recorded()
    putVerdict(board, sim('ETH'), { barClose: BAR_CLOSE + 64 * HOUR_MS })
    expect(await toolHandler.answer('get_trade_call', { coin: 'BTC' })).toMatchObject({ data_age_ms: 0 })
    expect(await toolHandler.answer('get_trade_call', { coin: 'ETH' })).toMatchObject({ data_age_ms: 0 })
  })

  test('has only what is monitored', async () => {
    const { toolHandler } = recorded()
    const coin = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'SOL' }))
    expect(coin).toMatchObject({ code: 'unknown_coin', details: { available: ['BTC', 'ETH'] } })
    const timeframe = await refusalOf(toolHandler.answer('get_trade_call', { coin: 'BTC', timeframe: '1m' }))
    expect(timeframe).toMatchObject({ code: 'unknown_timeframe', details: { available: ['1h', '4h'] } })
  })

  test('a series that has ended with too few bars says so', async () => {
    const { toolHandler, board, time } = recorded()
    putBars(board, sim('ETH'), 12, BAR_CLOSE - 90 * HOUR_MS)
    const refused = refusalOf(toolHandler.answer('get_trade_call', { coin: 'ETH' }))
    await time.advance(LIMITS.onDemandWaitMs)
    expect(await refused).toMatchObject({
      code: 'insufficient_history',
      details: { bars: 12, timeframes_that_work: [] },
    })
  })
})
