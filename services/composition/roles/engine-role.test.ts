import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import type { Series } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { createSimulatedFeed, type MarketFeed, openWatchList, type WatchList } from '../../market/index.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { readSettings } from '../../runtime/config/read-settings.ts'
import { openPlatform } from '../adapters/open-platform.ts'
import { createShutdown } from '../shutdown.ts'
import { createEngineRole, type EngineRole } from './engine-role.ts'
import { FREE_SPEECH } from './speech.fixture.ts'

const NOW = Date.UTC(2026, 0, 1)
const SERIES: Series = { exchange: 'SIM', coin: 'BTC', timeframe: '1h' }

let directory: string
let closers: (() => Promise<void>)[]
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'engine-role-'))
  closers = []
})
afterEach(async () => {
  for (const close of closers) await close()
  rmSync(directory, { recursive: true, force: true })
})

const batchAt = (at: number, phase: BarBatch['phase']): BarBatch => ({
  at,
  phase,
  bars: [
    { series: SERIES, candle: { openTime: at - HOUR_MS, open: 1, high: 1, low: 1, close: 1, volume: 1 } },
  ],
  funding: [],
})

/** An engine over a market, on a platform of its own. */
async function engineOn(feed: MarketFeed, watchList: WatchList | string[], lines: string[] = []) {
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const settings = readSettings(['--data-dir', join(directory, 'data'), '--fresh'], {})
  const shutdown = createShutdown(log)
  closers.unshift(shutdown.stop)
  const platform = await openPlatform({ settings, log, shutdown })
  const ending = new AbortController()
  const closed: string[] = []
  const engine = createEngineRole({
    version: 'test',
    settings,
    platform,
    feed,
    watchList: Array.isArray(watchList)
      ? await openWatchList(
          feed,
          { ...settings, MARKET: 'live', EXCHANGES: ['SIM'], COINS: watchList, TIMEFRAMES: ['1h'] },
          sleep,
        )
      : watchList,
    projector: undefined,
    speech: FREE_SPEECH,
    log,
    publicUrl: () => '',
    signal: ending.signal,
    terminal: { verdicts: () => undefined },
    counters: {
      verdictsRecorded: () => undefined,
      outcomesLabelled: () => undefined,
      appendTrouble: () => undefined,
      seriesClosed: (_exchange, code) => void closed.push(code),
    },
  })
  const running = engine.start()
  let end = 'goes on'
  const note = (how: string) => () => void (end = how)
  running.then(note('ended'), note('failed'))
  closers.unshift(async () => {
    ending.abort()
    await Promise.allSettled([running, engine.ended()])
  })
  return { engine, closed, ends: () => end }
}

const simulated = () =>
  createSimulatedFeed({
    seed: 'x',
    now: () => NOW + 20_000,
    sleepUntil: (_at, signal) => sleep(60_000, signal),
  })

const ask = ({ engine }: { engine: EngineRole }, coin = 'BTC'): Promise<string> =>
  engine.toolHandler.answer('get_trade_call', { coin, timeframe: '1h' }).then(
    ({ call }) => `answered ${call !== undefined}`,
    (error: ServiceError) => error.code,
  )

test('a coin asked for before its venue has said what it has waits to be monitored', async () => {
  const ranked = Promise.withResolvers<void>()
  const sim = simulated()
  const feed: MarketFeed = {
    ...sim,
    async universe(exchange) {
      await ranked.promise
      return sim.universe(exchange)
    },
  }
  const role = await engineOn(feed, ['BTC'])
  expect([await ask(role), await ask(role, 'ETH')]).toEqual(['series_loading', 'answered true'])
  ranked.resolve()
  await vi.waitUntil(() => role.engine.newestBar(SERIES) !== undefined)
  expect([await ask(role), role.closed, role.ends()]).toEqual(['answered true', [], 'goes on'])
})

test('a share is refused with what it is, by any of its names, and an unknown coin as before', async () => {
  const { engine } = await engineOn(
    {
      ...simulated(),
      whyNoCoin: ({ coin, exchange }) => (coin === 'TSLA' ? `TSLA on ${exchange} is a share` : undefined),
    },
    ['BTC'],
  )
  const refusal = (coin: string) =>
    engine.toolHandler
      .answer('get_trade_call', { coin, timeframe: '1h', exchange: 'SIM' })
      .catch(({ code, message, details }: ServiceError) => [code, message, details?.['available']])
  const available = expect.arrayContaining(['BTC']) as string[]
  for (const name of ['TSLA', 'TSLAUSDT', 'TSLA/USDT:USDT', 'TSLA-USDT-SWAP', 'tsla'])
    expect(await refusal(name), name).toEqual(['unknown_coin', 'TSLA on SIM is a share', available])
  expect(await refusal('NOPE')).toEqual([
    'unknown_coin',
    expect.stringContaining('no coin "NOPE"'),
    available,
  ])
})

test('a venue that cannot be reached is one sentence for the operator, without a stack', async () => {
  const lines: string[] = []
  const away = new ServiceError('venue_unavailable', { message: 'SIM does not answer: no such host' })
  const feed: MarketFeed = {
    ...simulated(),
    universe: () => Promise.reject(away),
    async *batches() {
      yield await Promise.reject(away)
    },
  }
  const role = await engineOn(feed, ['BTC'], lines)
  await vi.waitUntil(() => lines.length > 0)
  expect(await ask(role, 'ETH')).toBe('venue_unavailable')
  expect(lines.join()).toContain('the coins of SIM cannot be ranked: SIM does not answer: no such host')
  expect(lines.join()).toContain('SIM.ETH.1h cannot be followed on demand: SIM does not answer: no such host')
  expect(lines.join()).not.toContain('stack')
})

test('a series that is followed on demand is taken over by the run that monitors it', async () => {
  const chosen = Promise.withResolvers<void>()
  let isChosen = false
  const role = await engineOn(simulated(), {
    exchanges: ['SIM'],
    series: () => [],
    has: () => isChosen,
    mayHave: () => false,
    pending: () => [],
    describe: () => '',
    async follow(follow, signal) {
      await chosen.promise
      isChosen = true
      return [await follow([SERIES], signal)]
    },
  })
  expect(await ask(role)).toBe('answered true')
  chosen.resolve()
  await vi.waitUntil(() => role.engine.toolHandler.seriesOnDemand() === 0)
  expect(await ask(role)).toBe('answered true')
  expect([role.closed, role.ends()]).toEqual([[], 'goes on'])
})

test('the newest bar is none while history is fed in: its age says nothing of how late the market is', async () => {
  const isFed = Promise.withResolvers<void>()
  const goesOn = Promise.withResolvers<void>()
  const feed = {
    kind: 'simulated',
    clock: () => NOW,
    universe: () => Promise.resolve({ exchange: 'SIM', at: NOW, coins: [] }),
    listings: () => Promise.resolve([]),
    async *batches() {
      yield batchAt(NOW - 600 * HOUR_MS, 'history')
      isFed.resolve()
      await goesOn.promise
      yield batchAt(NOW - HOUR_MS, 'live')
    },
  } as unknown as MarketFeed
  const { engine } = await engineOn(feed, {
    exchanges: ['SIM'],
    series: () => [SERIES],
    has: () => true,
    mayHave: () => false,
    pending: () => [],
    describe: () => '',
    follow: async (follow, signal) => [await follow([SERIES], signal)],
  })
  await isFed.promise
  expect(engine.lastBarClose()).toBeUndefined()
  goesOn.resolve()
  await vi.waitUntil(() => engine.lastBarClose() !== undefined)
  expect(engine.lastBarClose()).toBe(NOW - HOUR_MS)
})
