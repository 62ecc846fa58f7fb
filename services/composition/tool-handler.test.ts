import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Series, seriesName } from '../../contracts/domain/series.ts'
import { lastBarClose, TIMEFRAMES } from '../../contracts/domain/timeframes.ts'
import { TOOLS } from '../../contracts/tools/tool-catalogue.ts'
import { openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import {
  createBoard,
  createOutcomeRecorder,
  createRecorder,
  createToolHandler,
  createUniverseManager,
  type LocalToolHandler,
  loadModel,
  runEngine,
  SeriesEngine,
} from '../engine/index.ts'
import { createSimulatedFeed } from '../market/index.ts'
import { sleep } from '../runtime/async/sleep.ts'
import { createFactIds } from '../runtime/ids/fact-id.ts'
import { uuidV8 } from '../runtime/ids/uuid.ts'

const NOW = Date.UTC(2026, 5, 15, 13, 37, 20)
const MONITORED: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }

/** A simulated market at one instant, one series of it monitored and everything else on demand. */
describe('the tools on a simulated market', () => {
  const ending = new AbortController()
  const store = openMemoryStore({ now: () => NOW })
  let ids = 0
  let toolHandler: LocalToolHandler
  let running: Promise<unknown>

  beforeAll(() => {
    const feed = createSimulatedFeed({
      seed: 'desk',
      now: () => NOW,
      sleepUntil: (_at, signal) => sleep(3_600_000, signal),
    })
    const recording = { store, idOf: createFactIds(Buffer.from('secret')), sleep, signal: ending.signal }
    const model = loadModel()
    const engine = new SeriesEngine({ model })
    const board = createBoard()
    const recorder = createRecorder(recording)
    const outcomes = createOutcomeRecorder(recording)
    const follow = (series: readonly Series[], signal: AbortSignal) =>
      runEngine({ engine, recorder, outcomes, board, series, batches: feed.batches({ series, signal }) })
    running = follow([MONITORED], ending.signal)
    toolHandler = createToolHandler({
      board,
      model,
      monitored: {
        exchanges: ['SIM'],
        series: () => [MONITORED],
        has: (series) => seriesName(series) === seriesName(MONITORED),
        mayHave: () => false,
      },
      listings: () => feed.listings(),
      universes: createUniverseManager({
        rank: (exchange) => feed.universe(exchange),
        store,
        newId: () => uuidV8(createHmac('sha256', 'ids').update(String(ids++)).digest()),
        clock: () => feed.clock(),
        sleep,
        onProblem: (_exchange, error) => {
          throw error
        },
      }),
      follow: async (series, signal) => void (await follow([series], signal)),
      fundingOf: () => null,
      scanFunding: () => {
        throw new Error('not asked here')
      },
      clock: () => feed.clock(),
      publicUrl: () => 'http://127.0.0.1:8402',
      now: Date.now,
      sleep,
      signal: ending.signal,
      onFailure: (_series, error) => {
        throw error
      },
    })
  })
  afterAll(async () => {
    ending.abort()
    await Promise.all([running, toolHandler.ended()])
    await store.close()
  })

  test.each(TIMEFRAMES)('answer at %s, and what they answer is in the log', async (timeframe) => {
    const request = { coin: 'BTC', timeframe }
    const [call, regime] = await Promise.all([
      toolHandler.answer('get_trade_call', request),
      toolHandler.answer('get_market_regime', request),
    ])
    expect(TOOLS.get_trade_call.response.parse(call)).toEqual(call)
    expect(TOOLS.get_market_regime.response.parse(regime)).toEqual(regime)
    const barClose = lastBarClose(timeframe, NOW)
    expect(call).toMatchObject({ exchange: 'SIM', coin: 'BTC', timeframe, data_age_ms: NOW - barClose })
    expect(call.bar_close).toBe(new Date(barClose).toISOString())
    expect(regime).toMatchObject({ verdict_id: call.verdict_id, bar_close: call.bar_close })
    const logged: string[] = []
    for await (const { id } of store.read(`verdict-SIM.BTC.${timeframe}`)) logged.push(id)
    expect(logged).toContain(call.verdict_id)
    const sum = call.factors.reduce((total, { contribution }) => total + contribution, 0)
    expect(1 / (1 + Math.exp(-sum))).toBeCloseTo(call.probability, 9)
  })

  test('a scan brings in the coins of the universe that nobody follows', async () => {
    const answer = await toolHandler.answer('scan_trade_calls', { timeframe: '4h', include_holds: true })
    expect(TOOLS.scan_trade_calls.response.parse(answer)).toEqual(answer)
    expect(answer.errors).toEqual([])
    expect(answer.scanned).toBe(6)
    expect(answer.calls.map(({ coin }) => coin).toSorted()).toEqual(
      ['BTC', 'DOGE', 'ETH', 'LINK', 'SOL', 'XRP'].toSorted(),
    )
    const ranked: unknown[] = []
    for await (const event of store.read('scan-SIM.universe')) ranked.push(event.type)
    expect(ranked).toEqual(['UniverseRanked'])
  })

  test('the monitored series is not among those on demand', async () => {
    for (const timeframe of TIMEFRAMES) await toolHandler.answer('get_trade_call', { coin: 'BTC', timeframe })
    await toolHandler.answer('scan_trade_calls', { timeframe: '4h', include_holds: true })
    // Ten further timeframes of BTC, and five further coins at 4h.
    expect(toolHandler.seriesOnDemand()).toBe(15)
  })
})
