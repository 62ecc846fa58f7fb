import { describe, expect, it } from 'vitest'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { type Series, seriesName, universeSchema } from '../../../contracts/domain/series.ts'
import {
  HOUR_MS,
  MINUTE_MS,
  TIMEFRAMES,
  type Timeframe,
  timeframeMs,
} from '../../../contracts/domain/timeframes.ts'
import type { BatchesRequest } from '../feed.ts'
import { createSimulatedFeed } from './simulated-feed.ts'

const NOW = Date.UTC(2026, 5, 15, 13, 37, 20)

const sim = (coin: string, timeframe: Timeframe): Series => ({ exchange: 'SIM', coin, timeframe })

/**
 * Reads a feed until market time passes `until`. Its clock stands still while batches are taken and moves when
 * the feed sleeps: to the instant it waits for, or to the next entry of `wakes` where it oversleeps.
 */
async function collect(
  request: Omit<BatchesRequest, 'signal'>,
  { now = NOW, until = NOW, wakes = [] as number[], historyBars = 20 } = {},
): Promise<BarBatch[]> {
  const controller = new AbortController()
  let clock = now
  const feed = createSimulatedFeed({
    seed: 'seed',
    historyBars,
    now: () => clock,
    sleepUntil: (marketTime) => {
      clock = wakes.shift() ?? marketTime
      if (clock > until) controller.abort()
      return Promise.resolve()
    },
  })
  const batches: BarBatch[] = []
  for await (const batch of feed.batches({ ...request, signal: controller.signal })) batches.push(batch)
  return batches
}

const isSeam = ({ phase, bars, funding }: BarBatch): boolean =>
  phase === 'live' && bars.length === 0 && funding.length === 0

/** The live batches that tell something. */
const live = (batches: readonly BarBatch[]): BarBatch[] =>
  batches.filter((batch) => batch.phase === 'live' && !isSeam(batch))

const barsOf = (batches: readonly BarBatch[], name: string) =>
  batches.flatMap(({ bars }) =>
    bars.filter(({ series }) => seriesName(series) === name).map(({ candle }) => candle),
  )

describe('createSimulatedFeed', () => {
  it('tells the settlement of the instant at which its bars begin, whatever else is followed', async () => {
    const begins = Date.UTC(2026, 5, 14, 12)
    const alone = await collect({ series: [sim('LINK', '15m')], historyFrom: begins })
    const beside = await collect({ series: [sim('LINK', '15m'), sim('LINK', '1d')], historyFrom: begins })
    const settled = (batches: readonly BarBatch[]) =>
      batches.flatMap(({ funding }) => funding).find(({ funding }) => funding.time === begins)
    expect(barsOf(alone, 'SIM.LINK.15m')[0]?.openTime).toBe(begins)
    expect(settled(alone)).toBeDefined()
    expect(settled(alone)).toEqual(settled(beside))
  })

  it('lists its coins with all eleven timeframes', async () => {
    const feed = createSimulatedFeed({
      seed: 'seed',
      coins: ['ETH', 'BTC'],
      now: () => NOW,
      sleepUntil: () => Promise.resolve(),
    })
    const listings = await feed.listings()
    expect(listings.map(({ exchange, coin }) => `${exchange}.${coin}`)).toEqual(['SIM.BTC', 'SIM.ETH'])
    expect(listings[0]?.timeframes).toEqual(TIMEFRAMES)
    expect(feed.clock()).toBe(NOW)
    expect(feed.progress()).toBeUndefined()
  })

  it('has a past of six hundred bars of each timeframe, ending at the newest closed bar', async () => {
    const batches = await collect(
      { series: TIMEFRAMES.map((timeframe) => sim('BTC', timeframe)) },
      { historyBars: 600 },
    )
    expect(live(batches)).toEqual([])
    for (const timeframe of TIMEFRAMES) {
      const bars = barsOf(batches, `SIM.BTC.${timeframe}`)
      const lengthMs = timeframeMs(timeframe)
      const newest = Math.floor(NOW / lengthMs) * lengthMs - lengthMs
      expect(bars).toHaveLength(600)
      expect(bars.map(({ openTime }) => openTime)).toEqual(
        Array.from({ length: 600 }, (_, index) => newest - (599 - index) * lengthMs),
      )
    }
  })

  it('makes longer bars of the shorter ones to the last bit', async () => {
    const batches = await collect(
      { series: [sim('ETH', '1m'), sim('ETH', '1h'), sim('ETH', '4h')] },
      { historyBars: 300 },
    )
    const minutes = new Map(barsOf(batches, 'SIM.ETH.1m').map((bar) => [bar.openTime, bar]))
    const hours = barsOf(batches, 'SIM.ETH.1h')
    const whole = hours.filter(({ openTime }) => minutes.has(openTime))
    expect(whole.length).toBeGreaterThan(3)
    for (const hour of whole) {
      const parts = Array.from({ length: 60 }, (_, index) => minutes.get(hour.openTime + index * MINUTE_MS))
      expect(Math.max(...parts.map((part) => part?.high ?? Number.NaN))).toBe(hour.high)
      expect(parts.reduce((sum, part) => sum + (part?.volume ?? Number.NaN), 0)).toBe(hour.volume)
    }
    const [last] = barsOf(batches, 'SIM.ETH.4h').slice(-1)
    const parts = hours.filter(
      ({ openTime }) => Math.floor(openTime / (4 * HOUR_MS)) * 4 * HOUR_MS === last?.openTime,
    )
    expect(parts.map(({ low }) => low).toSorted((a, b) => a - b)[0]).toBe(last?.low)
    expect(parts.reduce((sum, { volume }) => sum + volume, 0)).toBe(last?.volume)
  })

  it('goes from history to live without a gap', async () => {
    const batches = await collect(
      { series: [sim('BTC', '1m'), sim('BTC', '5m')] },
      { until: NOW + 30 * MINUTE_MS },
    )
    const opens = barsOf(batches, 'SIM.BTC.1m').map(({ openTime }) => openTime)
    expect(opens).toEqual(Array.from({ length: 50 }, (_, index) => (opens[0] ?? 0) + index * MINUTE_MS))
    expect(live(batches)).toHaveLength(30)
    expect(live(batches)[0]?.at).toBe(Math.ceil(NOW / MINUTE_MS) * MINUTE_MS)
    expect(barsOf(live(batches), 'SIM.BTC.5m')).toHaveLength(6)
  })

  it('delivers what came due while it slept, in order, none left out', async () => {
    const request = { series: [sim('BTC', '1m'), sim('SOL', '15m'), sim('BTC', '1h')] }
    const until = NOW + 5 * HOUR_MS
    const slept = await collect(request, { until, wakes: [NOW + 30_000, NOW + 4 * HOUR_MS] })
    expect(slept).toEqual(await collect(request, { until }))
    expect(slept.map(({ at }) => at)).toEqual(slept.map(({ at }) => at).toSorted((a, b) => a - b))
  })

  it('waits again where it is woken too early', async () => {
    const early = [NOW + 1, NOW + 2, NOW + 3]
    const batches = await collect({ series: [sim('BTC', '1m')] }, { until: NOW + MINUTE_MS, wakes: early })
    expect(live(batches)).toHaveLength(1)
  })

  it('says at once that history has ended, before it waits for the next bar', async () => {
    const batches = await collect({ series: [sim('BTC', '1h')] }, { until: NOW + 2 * HOUR_MS })
    const seam = batches.findIndex(isSeam)
    expect(batches[seam]?.at).toBe(NOW)
    expect(batches.slice(0, seam).every(({ phase }) => phase === 'history')).toBe(true)
    expect(batches.slice(seam + 1).every((batch) => batch.phase === 'live' && !isSeam(batch))).toBe(true)
  })

  it('goes on behind an instant as if it had never stopped', async () => {
    const request = { series: [sim('XRP', '1m'), sim('XRP', '30m'), sim('XRP', '1h'), sim('XRP', '1d')] }
    const stopped = NOW + 40 * MINUTE_MS
    const until = NOW + 3 * HOUR_MS
    const whole = live(await collect(request, { until }))
    const resumed = await collect({ ...request, liveFrom: stopped }, { now: NOW + 2 * HOUR_MS, until })
    expect(live(resumed)).toEqual(whole.filter(({ at }) => at > stopped))
  })

  it('runs its clock through the bars of each series after its own instant, each series in the order of time', async () => {
    const series = [sim('BTC', '1m'), sim('BTC', '1h')]
    const from = { '1m': NOW - 10 * MINUTE_MS, '1h': NOW - 5 * HOUR_MS } as Record<string, number>
    const run = await collect({ series, runFrom: ({ timeframe }) => from[timeframe] ?? NOW })
    const told = (phase: BarBatch['phase'], name: string) =>
      barsOf(
        run.filter((batch) => batch.phase === phase),
        name,
      ).length
    expect([told('run', 'SIM.BTC.1m'), told('history', 'SIM.BTC.1m')]).toEqual([10, 20])
    expect([told('run', 'SIM.BTC.1h'), told('history', 'SIM.BTC.1h')]).toEqual([5, 20])
    for (const own of Map.groupBy(run, ({ of }) => [...(of ?? [])].join()).values()) {
      expect(own.map(({ at }) => at)).toEqual(own.map(({ at }) => at).toSorted((a, b) => a - b))
      expect(own.findIndex(isSeam)).toBe(own.length - 1)
    }
  })

  const all = ['BTC', 'ETH'].flatMap((coin) => TIMEFRAMES.map((timeframe) => sim(coin, timeframe)))
  const runFrom = ({ timeframe }: Series, now: number): number => now - 5 * timeframeMs(timeframe)
  const seamsOf = (batches: readonly BarBatch[]): string[] =>
    batches.filter(isSeam).map(({ of }) => [...(of ?? [])].join())

  it('brings every series the same bars, seam and funding, whether the clock is run or not', async () => {
    const until = NOW + 5 * HOUR_MS
    const run = await collect({ series: all, runFrom }, { until })
    const plain = await collect({ series: all }, { until, historyBars: 25 })
    for (const one of all.map(seriesName)) {
      expect(barsOf(run, one)).toEqual(barsOf(plain, one).slice(-barsOf(run, one).length))
      const own = run.filter(({ of }) => of?.has(one))
      expect(own.filter(isSeam)).toHaveLength(1)
      const seam = own.findIndex(isSeam)
      expect(own.slice(0, seam).every(({ phase }) => phase !== 'live')).toBe(true)
      expect(own.slice(seam + 1).every(({ phase }) => phase === 'live')).toBe(true)
      const from = own[0]?.at ?? 0
      const market = one.split('.')[1]
      const settled = (batches: readonly BarBatch[]) =>
        batches
          .flatMap(({ funding }) => funding)
          .filter(({ market: { coin }, funding }) => coin === market && funding.time >= from)
      expect(settled(own)).toEqual(settled(plain))
    }
  })

  it('takes the series that somebody waits for through its past first, also one in the middle of others', async () => {
    const first = await collect({ series: all, runFrom })
    expect(seamsOf(first)[0]).toBe('SIM.BTC.1h')
    const wanted = await collect({ series: all, runFrom, awaited: () => [sim('ETH', '4h')] })
    expect(seamsOf(wanted)[0]).toBe('SIM.ETH.4h')
    expect(seamsOf(wanted).join().split(',').toSorted()).toEqual(all.map(seriesName).toSorted())
  })

  it('leaves others their turn every few milliseconds of its history, however many coins it has', async () => {
    for (const coins of [1, 6, 48]) {
      const series = Array.from({ length: coins }, (_, index) => sim(`C${index}`, '1h'))
      let [sinceTurn, most] = [0, 0]
      const turn = (): void => {
        sinceTurn = 0
        waiting = setImmediate(turn)
      }
      let waiting = setImmediate(turn)
      const sleepUntil = () => Promise.resolve()
      const feed = createSimulatedFeed({ seed: 'seed', now: () => NOW, sleepUntil })
      for await (const batch of feed.batches({ series, signal: new AbortController().signal })) {
        if (isSeam(batch)) break
        sinceTurn += batch.bars.length
        most = Math.max(most, sinceTurn)
      }
      clearImmediate(waiting)
      expect(most).toBeGreaterThan(0)
      expect(most).toBeLessThanOrEqual(400)
    }
  })

  it('tells of bars that close while others are in their past, and of how far those have come', async () => {
    let clock = NOW
    const ending = new AbortController()
    const feed = createSimulatedFeed({
      seed: 'seed',
      historyBars: 20,
      now: () => clock,
      sleepUntil: () => Promise.resolve(ending.abort()),
    })
    const told: string[] = []
    let past: readonly boolean[] = []
    for await (const batch of feed.batches({ series: all, runFrom, signal: ending.signal })) {
      if (isSeam(batch) && told.length === 0) clock += HOUR_MS
      if (batch.phase === 'live' && batch.bars.length > 0) told.push(...(batch.of ?? []))
      const { barsDone = 0, barsTotal = 0 } = feed.progress() ?? {}
      past = [...past, barsDone < barsTotal]
    }
    expect(told[0]).toBe('SIM.BTC.1h')
    expect(new Set(told).size).toBeGreaterThan(10)
    expect([past[0], past.at(-1), feed.progress()?.barsTotal]).toEqual([true, false, 5 * all.length])
  })

  it('orders the bars of an instant by timeframe, then by name, and brings funding at its time', async () => {
    const midnight = Math.ceil(NOW / (24 * HOUR_MS)) * 24 * HOUR_MS
    const request = {
      series: [sim('SOL', '1d'), sim('BTC', '1d'), sim('SOL', '1m'), sim('BTC', '1m')],
    }
    const batches = await collect(request, { now: midnight - 1, until: midnight, historyBars: 3 })
    const last = batches.at(-1)
    expect(last?.bars.map(({ series }) => seriesName(series))).toEqual([
      'SIM.BTC.1m',
      'SIM.SOL.1m',
      'SIM.BTC.1d',
      'SIM.SOL.1d',
    ])
    expect(
      last?.funding.map(({ market, funding }) => [market.coin, funding.intervalHours, funding.time]),
    ).toEqual([
      ['BTC', 8, midnight],
      ['SOL', 8, midnight],
    ])
  })

  it('tells of full hours only, where no shorter bars are wanted', async () => {
    const batches = await collect({ series: [sim('BTC', '2h')] }, { until: NOW + 6 * HOUR_MS })
    expect(live(batches).every(({ at }) => at % HOUR_MS === 0)).toBe(true)
    expect(barsOf(live(batches), 'SIM.BTC.2h')).toHaveLength(3)
  })

  it('refuses a series of a real exchange', async () => {
    const request = { series: [{ exchange: 'BINANCE', coin: 'BTC', timeframe: '1h' } as const] }
    await expect(collect(request)).rejects.toMatchObject({ code: 'market_data_missing' })
  })

  it('reaches back as far as it is asked to, without changing what is live', async () => {
    const request = { series: [sim('BTC', '1m'), sim('BTC', '4h')] }
    const until = NOW + 5 * MINUTE_MS
    const plain = await collect(request, { until })
    const deeper = await collect({ ...request, historyFrom: NOW - 10 * HOUR_MS }, { until })
    expect(live(deeper)).toEqual(live(plain))
    const firstOf = (batches: readonly BarBatch[], name: string) => barsOf(batches, name)[0]?.openTime
    expect(firstOf(deeper, 'SIM.BTC.1m')).toBe(Math.floor((NOW - 10 * HOUR_MS) / MINUTE_MS) * MINUTE_MS)
    // Twenty bars of 4h reach further back than that already.
    expect(barsOf(deeper, 'SIM.BTC.4h')).toEqual(barsOf(plain, 'SIM.BTC.4h'))
    expect(barsOf(deeper, 'SIM.BTC.1m').slice(-25)).toEqual(barsOf(plain, 'SIM.BTC.1m'))
  })
})

describe('the universe of the simulated market', () => {
  const feedAt = (now: number, coins?: readonly string[]) =>
    createSimulatedFeed({
      seed: 'seed',
      now: () => now,
      sleepUntil: () => Promise.resolve(),
      ...(coins && { coins }),
    })

  it('is what the 1m bars of the last 24 hours traded, largest first', async () => {
    const universe = await feedAt(NOW).universe('SIM')
    expect(universe).toMatchObject({ exchange: 'SIM', rankedAt: NOW })
    const volumes = universe.coins.map(({ quoteVolume24h }) => quoteVolume24h)
    expect(volumes).toEqual(volumes.toSorted((a, b) => b - a))
    expect(universe.coins.map(({ coin }) => coin).toSorted()).toEqual(
      ['BTC', 'DOGE', 'ETH', 'LINK', 'SOL', 'XRP'].toSorted(),
    )
    const bars = barsOf(await collect({ series: [sim('ETH', '1m')] }, { historyBars: 1_440 }), 'SIM.ETH.1m')
    expect(bars).toHaveLength(1_440)
    const eth = universe.coins.find(({ coin }) => coin === 'ETH')
    expect(eth?.quoteVolume24h).toBeCloseTo(
      bars.reduce((sum, { close, volume }) => sum + close * volume, 0),
      3,
    )
    expect(eth?.change24h).toBeCloseTo((bars.at(-1)?.close ?? 0) / (bars[0]?.open ?? 1) - 1, 12)
  })

  it('is the same for the same instant, and another a day later', async () => {
    const coins = ['BTC', 'ABC', 'DEF', 'GHI']
    const [one, again, later] = await Promise.all(
      [NOW, NOW, NOW + 24 * HOUR_MS].map((now) => feedAt(now, coins).universe('SIM')),
    )
    expect(one).toEqual(again)
    expect(later?.coins).not.toEqual(one?.coins)
    expect(universeSchema.parse(one)).toEqual(one)
  })

  it('is not had of another exchange', async () => {
    await expect(feedAt(NOW).universe('OKX')).rejects.toMatchObject({
      code: 'unknown_exchange',
      details: { given: 'OKX', available: ['SIM'] },
    })
    expect(feedAt(NOW).venues()).toEqual([])
  })
})
