import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { BarBatch } from '../../contracts/feed.ts'
import type { Series } from '../../contracts/series.ts'
import { HOUR_MS } from '../../contracts/timeframes.ts'
import type { MarketFeed } from '../market/index.ts'
import { readSettings } from '../platform/config/read-settings.ts'
import { createEngineRole } from './engine-role.ts'
import { openPlatform } from './open-platform.ts'
import type { WatchList } from './watch-list.ts'

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

test('the newest bar is none while history is fed in: its age says nothing of how late the market is', async () => {
  const log = pino({ level: 'silent' })
  const settings = readSettings(['--data-dir', join(directory, 'data'), '--coins', 'BTC'], {})
  const platform = await openPlatform(settings, log, (close) => closers.unshift(close))
  const ending = new AbortController()
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
  const watchList = {
    exchanges: ['SIM'],
    series: () => [SERIES],
    has: () => true,
    describe: () => '',
    follow: (follow) => follow([SERIES]),
  } satisfies WatchList
  const engine = createEngineRole({
    settings,
    platform,
    feed,
    watchList,
    newestVerdicts: undefined,
    log,
    publicUrl: () => '',
    signal: ending.signal,
    onRecorded: () => undefined,
    onLabelled: () => undefined,
    onTrouble: () => undefined,
  })
  const running = engine.start()
  await isFed.promise
  expect(engine.lastBarClose()).toBeUndefined()
  goesOn.resolve()
  await vi.waitUntil(() => engine.lastBarClose() !== undefined)
  expect(engine.lastBarClose()).toBe(NOW - HOUR_MS)
  ending.abort()
  await Promise.allSettled([running, engine.ended()])
})
