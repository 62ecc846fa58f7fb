import { describe, expect, test } from 'vitest'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import {
  BAR_CLOSE,
  putBars,
  putVerdict,
  refusalOf,
  setUpToolHandler,
  sim,
  untilAborted,
} from './tool-handler.fixture.ts'

const SOL = { coin: 'SOL', timeframe: '5m' }

describe('a series that nobody monitors', () => {
  test('is followed when it is asked for, once for all who ask', async () => {
    const loaded = Promise.withResolvers<void>()
    const fixture = setUpToolHandler({
      async follow(series, signal) {
        fixture.begun.push(seriesName(series))
        await loaded.promise
        putVerdict(fixture.board, series)
        await untilAborted(signal)
      },
    })
    const { toolHandler, time, begun } = fixture
    const answering = Promise.all(
      [SOL, SOL, { ...SOL, timeframe: '1d' }, SOL].map((request) =>
        toolHandler.answer('get_trade_call', request),
      ),
    )
    await time.advance(1_000)
    expect(begun).toEqual(['SIM.SOL.5m', 'SIM.SOL.1d'])
    loaded.resolve()
    await time.advance(100)
    expect((await answering).map(({ timeframe }) => timeframe)).toEqual(['5m', '5m', '1d', '5m'])
    expect(toolHandler.seriesOnDemand()).toBe(2)
  })

  test('goes on loading when the wait is over, and answers the next ask', async () => {
    const fixture = setUpToolHandler({
      async follow(series, signal) {
        fixture.begun.push(seriesName(series))
        await fixture.time.sleep(25_000, signal)
        putVerdict(fixture.board, series)
        await untilAborted(signal)
      },
    })
    const { toolHandler, time, begun } = fixture
    const refused = refusalOf(toolHandler.answer('get_trade_call', SOL))
    await time.advance(LIMITS.onDemandWaitMs)
    expect((await refused).code).toBe('series_loading')
    await time.advance(15_000)
    expect(await toolHandler.answer('get_trade_call', SOL)).toMatchObject(SOL)
    expect(begun).toEqual(['SIM.SOL.5m'])
  })

  test('whose history ends with too few bars is refused at once, not after the wait', async () => {
    const fixture = setUpToolHandler({
      async follow(series, signal) {
        putBars(fixture.board, series, 100, BAR_CLOSE)
        await untilAborted(signal)
      },
    })
    const refusal = await refusalOf(
      fixture.toolHandler.answer('get_trade_call', { coin: 'SOL', timeframe: '1d' }),
    )
    expect(refusal).toMatchObject({ code: 'insufficient_history', details: { bars: 100 } })
    expect(fixture.time.now()).toBe(1_000_000)
  })

  test('is not called too short while its history is still coming', async () => {
    const fixture = setUpToolHandler({
      // A quick market, on which bars of hours ago count as fresh.
      staleAfterMs: 30 * HOUR_MS,
      async follow(series, signal) {
        putBars(fixture.board, series, 320, BAR_CLOSE - 9 * HOUR_MS, false)
        await fixture.time.sleep(500, signal)
        putVerdict(fixture.board, series)
        await untilAborted(signal)
      },
    })
    const answer = fixture.toolHandler.answer('get_trade_call', SOL)
    await fixture.time.advance(1_000)
    expect(await answer).toMatchObject(SOL)
  })

  test('is kept while it is asked for, then stopped, and begun again by a later ask', async () => {
    const { toolHandler, board, time, begun } = setUpToolHandler()
    await toolHandler.answer('get_trade_call', SOL)
    await time.advance(LIMITS.onDemandKeepMs - 1)
    await toolHandler.answer('get_trade_call', SOL)
    await time.advance(LIMITS.onDemandKeepMs - 1)
    expect(toolHandler.seriesOnDemand()).toBe(1)
    await time.advance(1)
    expect(toolHandler.seriesOnDemand()).toBe(0)
    expect(board.get({ exchange: 'SIM', coin: 'SOL', timeframe: '5m' })).toBeUndefined()
    await toolHandler.answer('get_trade_call', SOL)
    expect(begun).toEqual(['SIM.SOL.5m', 'SIM.SOL.5m'])
  })

  test('is kept while it is asked for though it has no verdict yet', async () => {
    const { toolHandler, time } = setUpToolHandler({ follow: (_series, signal) => untilAborted(signal) })
    for (let asked = 0; asked < 3; asked++) {
      const refused = refusalOf(toolHandler.answer('get_trade_call', SOL))
      await time.advance(LIMITS.onDemandKeepMs - 1)
      expect((await refused).code).toBe('series_loading')
      expect(toolHandler.seriesOnDemand()).toBe(1)
    }
    await time.advance(1)
    expect(toolHandler.seriesOnDemand()).toBe(0)
  })

  test('is never followed twice at a time, however slowly it ends', async () => {
    let running = 0
    let most = 0
    const fixture = setUpToolHandler({
      async follow(series, signal) {
        most = Math.max(most, ++running)
        putVerdict(fixture.board, series)
        await untilAborted(signal)
        fixture.board.remove(series)
        await fixture.time.sleep(5_000, new AbortController().signal)
        running--
      },
    })
    const { toolHandler, time } = fixture
    await toolHandler.answer('get_trade_call', SOL)
    await time.advance(LIMITS.onDemandKeepMs)
    const again = toolHandler.answer('get_trade_call', SOL)
    await time.advance(5_100)
    expect(await again).toMatchObject(SOL)
    expect(most).toBe(1)
  })

  test('that fails is refused as it failed, told of, and tried anew by the next ask', async () => {
    const faults: unknown[] = [
      new Error('socket hang up'),
      new ServiceError('market_data_missing', { message: 'delisted' }),
    ]
    const fixture = setUpToolHandler({
      async follow(series, signal) {
        const fault = faults.shift()
        if (fault !== undefined) throw fault
        putVerdict(fixture.board, series)
        await untilAborted(signal)
      },
    })
    const { toolHandler, time, failures } = fixture
    const ask = async () => {
      const refused = refusalOf(toolHandler.answer('get_trade_call', SOL))
      await time.advance(100)
      return refused
    }
    expect(await ask()).toMatchObject({
      code: 'venue_unavailable',
      message: 'SIM.SOL.5m could not be loaded: socket hang up',
    })
    expect(await ask()).toMatchObject({ code: 'market_data_missing', message: 'delisted' })
    expect(await toolHandler.answer('get_trade_call', SOL)).toMatchObject(SOL)
    expect(failures.map(([name, { code }]) => [name, code])).toEqual([
      ['SIM.SOL.5m', 'venue_unavailable'],
      ['SIM.SOL.5m', 'market_data_missing'],
    ])
  })

  test('that fails later tells of it too, though nobody waits', async () => {
    const failing = Promise.withResolvers<void>()
    const fixture = setUpToolHandler({
      async follow(series) {
        putVerdict(fixture.board, series)
        await failing.promise
      },
    })
    await fixture.toolHandler.answer('get_trade_call', SOL)
    failing.reject(new Error('gone'))
    await fixture.time.advance(0)
    expect(fixture.failures).toHaveLength(1)
    expect(fixture.toolHandler.seriesOnDemand()).toBe(0)
  })

  test('that ends by itself without a verdict keeps nobody waiting', async () => {
    const { toolHandler, time } = setUpToolHandler({ follow: async () => undefined })
    const refused = refusalOf(toolHandler.answer('get_trade_call', SOL))
    await time.advance(25)
    expect((await refused).code).toBe('series_loading')
    expect(time.now()).toBe(1_000_025)
  })
})

test('everything on demand ends with the process, and those who wait are turned away', async () => {
  const fixture = setUpToolHandler({
    async follow(_series, signal) {
      await untilAborted(signal)
      await fixture.time.sleep(500, new AbortController().signal)
    },
  })
  const { toolHandler, time, ending } = fixture
  const refused = refusalOf(toolHandler.answer('get_trade_call', SOL))
  await time.advance(100)
  ending.abort()
  expect((await refused).code).toBe('shutting_down')
  let hasEnded = false
  const ended = (async () => {
    await toolHandler.ended()
    hasEnded = true
  })()
  await time.advance(400)
  expect(hasEnded).toBe(false)
  await time.advance(100)
  await ended
  expect(time.waiting()).toBe(0)
  expect((await refusalOf(toolHandler.answer('get_trade_call', SOL))).code).toBe('shutting_down')
  expect(await toolHandler.answer('get_trade_call', { coin: 'BTC' })).toMatchObject({ coin: 'BTC' })
})

test('no more series are followed than the limit; one that ends makes room', async () => {
  const coins = Array.from({ length: LIMITS.seriesOnDemand + 1 }, (_, index) => `C${index}`)
  const { toolHandler, time } = setUpToolHandler({
    listings: async () => coins.map((coin) => ({ exchange: 'SIM', coin, timeframes: ['1h'] })),
  })
  for (const coin of coins.slice(0, -1)) await toolHandler.answer('get_trade_call', { coin })
  const last = { coin: coins.at(-1) }
  expect(await refusalOf(toolHandler.answer('get_trade_call', last))).toMatchObject({
    code: 'overloaded',
    details: { limit: LIMITS.seriesOnDemand },
  })
  expect(toolHandler.seriesOnDemand()).toBe(LIMITS.seriesOnDemand)
  await time.advance(LIMITS.onDemandKeepMs)
  expect(await toolHandler.answer('get_trade_call', last)).toMatchObject(last)
})

test('a monitored series is never followed a second time', async () => {
  const { toolHandler, board, time, begun } = setUpToolHandler()
  const monitored: Series = sim('BTC')
  board.remove(monitored)
  const refused = refusalOf(toolHandler.answer('get_trade_call', { coin: 'BTC' }))
  await time.advance(LIMITS.onDemandWaitMs)
  expect((await refused).code).toBe('series_loading')
  expect(begun).toEqual([])
})
