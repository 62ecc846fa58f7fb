import { describe, expect, test } from 'vitest'
import type { FundingRate } from '../../../contracts/domain/candle.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { createFundingTrack } from './funding-track.ts'
import type { Venue } from './venue.ts'

const MARKET = { exchange: 'BINANCE', coin: 'X' } as const
const BEGIN = Date.UTC(2026, 0, 1)
const CHANGE = BEGIN + 20 * DAY_MS

/** Follows a market whose interval changes, for a day behind the change. */
async function follow(settlements: readonly number[], statedHours: (now: number) => number | undefined) {
  let now = CHANGE + 10 * MINUTE_MS
  let requests = 0
  const venue = {
    fundingHours: () => statedHours(now),
    funding: (_market: unknown, since: number) => {
      requests += 1
      return Promise.resolve(
        settlements.filter((time) => time >= since && time <= now).map((time) => ({ time, rate: 0.0001 })),
      )
    },
  } as unknown as Venue
  const track = createFundingTrack(venue, MARKET, BEGIN, () => now)
  const told: { funding: FundingRate; at: number }[] = []
  for (; now < CHANGE + DAY_MS + HOUR_MS; now += 15_000) {
    if (track.dueAt() > now) continue
    for (const funding of await track.fetch(new AbortController().signal)) told.push({ funding, at: now })
  }
  return { told, requests }
}

function changing(was: number, is: number): number[] {
  const times: number[] = []
  for (let time = BEGIN; time < CHANGE; time += was * HOUR_MS) times.push(time)
  for (let time = CHANGE; time <= CHANGE + 2 * DAY_MS; time += is * HOUR_MS) times.push(time)
  return times
}

describe.each([
  ['says its interval', (was: number, is: number) => (now: number) => (now < CHANGE ? was : is)],
  [
    'says it before the last settlement of the one before',
    (was: number, is: number) => (now: number) => (now < CHANGE - (was * HOUR_MS) / 2 ? was : is),
  ],
  ['says none', () => () => undefined],
] as const)('a venue that %s', (_name, stating) => {
  test.each([
    [4, 8],
    [1, 4],
    [1, 8],
    [8, 4],
    [8, 1],
    [4, 1],
  ])(
    'and goes from %d to %d hours: every settlement is told once, in time and for its hours',
    async (was, is) => {
      const { told, requests } = await follow(changing(was, is), stating(was, is))
      const times = told.map(({ funding }) => funding.time)
      expect(new Set(times).size).toBe(times.length)
      const behind = told.filter(({ funding }) => funding.time > CHANGE)
      expect(behind.map(({ funding }) => funding.intervalHours)).toEqual(
        Array.from({ length: 24 / is }, () => is),
      )
      for (const { funding, at } of behind) expect(at - funding.time).toBeLessThan(90_000)
      expect(requests).toBeLessThan(120)
    },
  )
})

test('where a settlement was missing, the rate behind it is told again with its true interval', async () => {
  const lost = CHANGE + 8 * HOUR_MS
  const { told } = await follow(
    changing(4, 4).filter((time) => time !== lost),
    () => undefined,
  )
  const again = told.filter(({ funding }) => funding.time === lost + 4 * HOUR_MS)
  expect(again.map(({ funding }) => funding.intervalHours)).toEqual([8, 4])
})
