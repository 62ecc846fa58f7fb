import { expect, test } from 'vitest'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { HOUR_MS, MINUTE_MS, type Timeframe, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { createRandom } from '../simulated/random.ts'
import { BarLeg } from './bar-leg.ts'
import { liveBatches } from './live-batches.ts'
import type { LiveContext } from './live-context.ts'
import { planLegs } from './plan-legs.ts'
import { createRateBudget } from './rate-budget.ts'
import { createVirtualClock } from './testing/virtual-clock.ts'
import type { Venue } from './venue.ts'

const TIMEFRAMES = ['1m', '5m', '1h', '4h', '1d'] as const satisfies readonly Timeframe[]
const HISTORY_BARS = 520
/** Ten minutes before bars of every timeframe but the longest close. */
const START = Date.UTC(2026, 2, 3, 11, 50, 20)
const never = new AbortController().signal

/** A venue that gives every bar, at a rate that is too low for those who ask. */
function tightVenue(
  clock: ReturnType<typeof createVirtualClock>,
  msPerUnit: number,
  draw: () => number,
): Venue {
  const { now, sleep } = clock
  const budget = createRateBudget({ msPerUnit, burstUnits: 10, now, sleep })
  const listings = { isGone: () => false, traded: () => ({ has: () => true }) }
  return {
    pageBars: 1_000,
    clockBehindMs: () => 0,
    listings,
    access: () => undefined,
    markets: () => Promise.resolve(new Map()),
    faults: { note: (fault: string, series: Series) => expect.fail(`${fault} of ${seriesName(series)}`) },
    async bars({ timeframe }: Series, since: number, count: number) {
      await budget.take(20 + count / 60, never)
      await sleep(50 + draw() * 4_000, never)
      const lengthMs = timeframeMs(timeframe)
      const bars = []
      for (let at = since; bars.length < count && at + lengthMs <= now(); at += lengthMs)
        bars.push({ openTime: at, open: 1, high: 1, low: 1, close: 1, volume: 1 })
      return bars
    },
  } as unknown as Venue
}

/** Follows some coins at about half the rate that they need, for three hours. */
async function follow(seed: number) {
  const random = createRandom(seed)
  const draw = (): number => random.uniform()
  const clock = createVirtualClock(START)
  const coins = Array.from({ length: 4 + Math.floor(draw() * 3) }, (_, index) => `C${index}`)
  const venue = tightVenue(clock, 1_200 + draw() * 600, draw)
  const series = coins.flatMap((coin) =>
    TIMEFRAMES.map((timeframe): Series => ({ exchange: 'HL', coin, timeframe })),
  )
  const liveFrom = Math.floor(START / MINUTE_MS) * MINUTE_MS
  const plans = planLegs(series, { liveFrom, historyBars: HISTORY_BARS, keptBars: Number.POSITIVE_INFINITY })
  const legs = plans.map((plan) => new BarLeg(plan, venue, clock.now))
  const told = { leftBehind: 0, others: [] as string[] }
  const context = {
    now: clock.now,
    sleep: clock.sleep,
    random: draw,
    failed: (_venue: Venue, error: unknown) => void told.others.push(String(error)),
    notice: (_leg: BarLeg, message: string) =>
      message.includes('late') ? told.leftBehind++ : told.others.push(message),
  } as unknown as LiveContext
  const opens = new Map(series.map((one) => [seriesName(one), [] as number[]]))
  const ending = new AbortController()
  const end = START + 3 * HOUR_MS
  const reading = (async () => {
    const { signal } = ending
    for await (const { bars } of liveBatches({ series, legs, tracks: [], context, liveFrom, signal })) {
      for (const { series: one, candle } of bars) opens.get(seriesName(one))?.push(candle.openTime)
      if (clock.now() >= end) break
    }
  })()
  await clock.runUntil(reading)
  ending.abort()
  return { series, opens, told, liveFrom, end }
}

test.each(Array.from({ length: 4 }, (_, index) => index + 1))(
  'a history that takes longer than a start waits comes up whole and in order, beside bars that close: seed %d',
  async (seed) => {
    const { series, opens, told, liveFrom, end } = await follow(seed)
    expect(told.others).toEqual([])
    // Otherwise nothing of this was tried.
    expect(told.leftBehind).toBeGreaterThan(0)
    for (const one of series) {
      const lengthMs = timeframeMs(one.timeframe)
      const first = Math.floor(liveFrom / lengthMs) * lengthMs - HISTORY_BARS * lengthMs
      const got = opens.get(seriesName(one)) ?? []
      expect(got, seriesName(one)).toEqual(got.map((_, index) => first + index * lengthMs))
      // Late, since the rate is too low, but not left behind.
      expect((got.at(-1) ?? 0) + lengthMs, seriesName(one)).toBeGreaterThan(end - lengthMs - 15 * MINUTE_MS)
    }
  },
)
