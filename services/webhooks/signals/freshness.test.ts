import { describe, expect, test } from 'vitest'
import type { SubscriptionFilter } from '../../../contracts/subscription.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contracts/timeframes.ts'
import { isStale } from './passes-filter.ts'
import type { Signal } from './signal.ts'
import { toSignals } from './signal-facts.ts'
import { matchRange } from './testing/match-range.fixture.ts'
import { aFilter, aSignalLog, NOON } from './testing/signal-log.fixture.ts'

async function aMinuteCall(): Promise<Signal> {
  const [signal] = toSignals(await aSignalLog().verdict({ call: 'BUY', timeframe: '1m' }))
  if (signal === undefined) throw new Error('a BUY is a signal')
  return signal
}

describe('a signal', () => {
  test.each(['skip', 'mark'] as const)(
    'is stale for %s once more than so many bars have passed',
    async (policy) => {
      const signal = await aMinuteCall()
      const freshness = { policy, maxBars: 3 }
      expect(isStale(signal, freshness, signal.barClose + 3 * MINUTE_MS)).toBe(false)
      expect(isStale(signal, freshness, signal.barClose + 3 * MINUTE_MS + 1)).toBe(true)
    },
  )

  test('is never stale for who wants all', async () => {
    const signal = await aMinuteCall()
    expect(isStale(signal, { policy: 'all', maxBars: 1 }, signal.barClose + 365 * DAY_MS)).toBe(false)
  })

  test('that is a digest ages by its cadence, not by its bars', async () => {
    const [signal] = toSignals(await aSignalLog().digest('SIM', '1m', '4h', 1))
    if (signal === undefined) throw new Error('a digest is a signal')
    const freshness = { policy: 'skip', maxBars: 1 } as const
    expect(isStale(signal, freshness, NOON + 4 * HOUR_MS)).toBe(false)
    expect(isStale(signal, freshness, NOON + 4 * HOUR_MS + 1)).toBe(true)
  })

  test('has the same number whether old ones are skipped or not, and however late it was recorded', async () => {
    const numbered = async (freshness: SubscriptionFilter['freshness']) => {
      const world = aSignalLog()
      await world.subscribe(1, aFilter({ freshness }))
      for (const days of [0, 1, 300, 2]) {
        world.now = NOON + days * DAY_MS
        await world.verdict({ call: 'BUY', timeframe: '1m' })
      }
      const subscription = world.subscription(1)
      const from = { after: subscription.startAfter, sequence: 1 }
      const numbers: number[] = []
      for await (const { sequence } of matchRange(world, subscription, from, world.head()))
        numbers.push(sequence)
      return numbers
    }
    expect(await numbered({ policy: 'skip', maxBars: 1 })).toEqual([1, 2, 3, 4])
    expect(await numbered({ policy: 'all', maxBars: 1 })).toEqual([1, 2, 3, 4])
  })
})
