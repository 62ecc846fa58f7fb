import { describe, expect, test } from 'vitest'
import type { FundingRate } from '../../../contracts/domain/candle.ts'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { createFundingTrack } from './funding-track.ts'
import { START } from './testing/live-bench.ts'
import { never, withVenue } from './testing/with-venue.ts'
import { LIVE_EXCHANGES, type LiveExchange } from './venues.ts'

/** A contract that has settled since an instant, at the interval that was in force at each. */
interface Contract {
  readonly from: number
  readonly hoursAt: (time: number) => number
}

const settlements = ({ from, hoursAt }: Contract): FundingRate[] => {
  const all: FundingRate[] = []
  for (let time = Math.ceil(from / HOUR_MS) * HOUR_MS; time <= START; time += HOUR_MS) {
    const intervalHours = hoursAt(time)
    if (time % (intervalHours * HOUR_MS) === 0) all.push({ time, rate: 0.0001, intervalHours })
  }
  return all
}

/** The part that a start has of the funding of such a contract, in hours before the start; and how many requests it took. */
const fundingOf = (exchange: LiveExchange, contract: Contract) =>
  withVenue(exchange, async (venue, bench) => {
    const all = settlements(contract)
    Object.assign(bench.venue(exchange).market, {
      fundingHours: () => contract.hoursAt(START),
      funding: (_coin: string, begin: number, end: number) =>
        all.filter(({ time }) => time >= begin && time <= end),
    })
    const track = createFundingTrack(venue, { exchange, coin: 'BTC' }, START - 37 * DAY_MS, () => START)
    const funding = await track.fetch(never)
    const wanted = all.filter(({ time }) => time >= START - 37 * DAY_MS)
    return { funding, wanted, requests: bench.venue(exchange).requests.get('funding') ?? 0, track, bench }
  })

const change = START - 3 * DAY_MS
const CONTRACTS: readonly (readonly [string, Contract])[] = [
  ['listed ten days ago, with hourly funding', { from: START - 10 * DAY_MS, hoursAt: () => 1 }],
  ['listed two days ago, with funding every four hours', { from: START - 2 * DAY_MS, hoursAt: () => 4 }],
  [
    'that went from eight hours to one three days ago',
    { from: START - 60 * DAY_MS, hoursAt: (time) => (time > change ? 1 : 8) },
  ],
  [
    'that went from one hour to eight three days ago',
    { from: START - 60 * DAY_MS, hoursAt: (time) => (time > change ? 8 : 1) },
  ],
  ['that is old and settles every eight hours', { from: START - 60 * DAY_MS, hoursAt: () => 8 }],
  ['that is old and settles every hour', { from: START - 60 * DAY_MS, hoursAt: () => 1 }],
]

describe('a start has all settlements of 37 days', () => {
  test.each(LIVE_EXCHANGES.flatMap((exchange) => CONTRACTS.map(([name, one]) => ({ exchange, name, one }))))(
    'of a contract of $exchange $name',
    async ({ exchange, one }) => {
      const { funding, wanted, requests } = await fundingOf(exchange, one)
      const times = (rates: readonly FundingRate[]) => rates.map(({ time }) => (START - time) / HOUR_MS)
      expect(times(funding)).toEqual(times(wanted))
      expect(requests).toBeLessThanOrEqual(1 + Math.ceil(wanted.length / 90))
    },
  )

  test.each(LIVE_EXCHANGES)('and %s is asked once for what came since', async (exchange) => {
    await withVenue(exchange, async (venue, bench) => {
      const track = createFundingTrack(venue, { exchange, coin: 'BTC' }, START - 37 * DAY_MS, bench.clock.now)
      await track.fetch(never)
      const { requests } = bench.venue(exchange)
      const before = requests.get('funding') ?? 0
      expect(await track.fetch(never)).toEqual([])
      expect(requests.get('funding')).toBe(before + 1)
    })
  })
})
