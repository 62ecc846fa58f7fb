import { describe, expect, test } from 'vitest'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createRateBudget } from './rate-budget.ts'
import { createVirtualClock } from './testing/virtual-clock.ts'
import { createVenueAccess } from './venue-access.ts'
import { VenueFailure } from './venue-failure.ts'

const never = new AbortController().signal
const busy = (retryAfterMs?: number) =>
  new VenueFailure('passing', 'busy', retryAfterMs === undefined ? {} : { retryAfterMs })

function anAccess(random = 0.5) {
  const clock = createVirtualClock(0)
  const { now, sleep } = clock
  const budget = createRateBudget({ msPerUnit: 1, burstUnits: 1_000, now, sleep })
  const access = createVenueAccess({
    exchange: 'OKX',
    budget,
    classify: (error) => error as VenueFailure,
    now,
    sleep,
    random: () => random,
  })
  /** Fails so often, then answers; notes when it was asked. */
  const failing = (times: number, failure = busy()) => {
    const asked: number[] = []
    const attempt = async (): Promise<string> => {
      await budget.take(1, never)
      asked.push(now())
      if (asked.length <= times) throw failure
      return 'answer'
    }
    return { asked, attempt }
  }
  return { clock, access, failing }
}

describe('a request', () => {
  test('is made again after what passes, each time later, half of the wait by chance', async () => {
    for (const [random, expected] of [
      [0, [0, 250, 750, 1_750]],
      [0.999_999, [0, 500, 1_500, 3_500]],
    ] as const) {
      const { clock, access, failing } = anAccess(random)
      const { asked, attempt } = failing(3)
      expect(await clock.runUntil(access.ask(attempt, never))).toBe('answer')
      expect(asked.map(Math.round)).toEqual(expected)
    }
  })

  test('is given up after its tries', async () => {
    const { clock, access, failing } = anAccess()
    const { asked, attempt } = failing(100)
    await expect(clock.runUntil(access.ask(attempt, never))).rejects.toThrow('busy')
    expect(asked).toHaveLength(LIMITS.venueAttempts)
    expect(access.lastFailure()).toBe('busy')
  })

  test.each(['refused', 'unknown_symbol'] as const)(
    'that is %s is not made again, and the venue is well',
    async (kind) => {
      const { clock, access, failing } = anAccess()
      const { asked, attempt } = failing(100, new VenueFailure(kind, 'no'))
      for (let time = 0; time < 10; time++) {
        await expect(clock.runUntil(access.ask(attempt, never))).rejects.toThrow('no')
      }
      expect(asked).toHaveLength(10)
      expect(access.circuit.state()).toBe('closed')
    },
  )

  test('that is barred is not made again, and the venue is left alone for longer after a few', async () => {
    const { clock, access, failing } = anAccess()
    const { asked, attempt } = failing(100, new VenueFailure('barred', 'not from here'))
    for (let time = 0; time < LIMITS.venueFailuresInARow + 3; time++)
      await clock.runUntil(access.ask(attempt, never)).catch(() => undefined)
    expect(asked).toHaveLength(LIMITS.venueFailuresInARow)
    expect(access.circuit.opensAt() - clock.now()).toBe(LIMITS.venueBarredMs)
  })

  test('waits as long as the venue says, and so does every other', async () => {
    const { clock, access, failing } = anAccess()
    const limited = failing(1, busy(7_000))
    const other = failing(0)
    await clock.runUntil(access.ask(limited.attempt, never))
    expect(limited.asked).toEqual([0, 7_000])
    const again = failing(1, busy(9_000))
    await clock.runUntil(Promise.all([access.ask(again.attempt, never), access.ask(other.attempt, never)]))
    expect(again.asked).toEqual([7_000, 16_000])
    // It was admitted together with the one that was limited.
    expect(other.asked).toEqual([7_000])
    const later = failing(0)
    await clock.runUntil(access.ask(later.attempt, never))
    expect(later.asked).toEqual([16_000])
  })

  test('is not made while the venue is left alone, and says until when and why', async () => {
    const { clock, access, failing } = anAccess()
    const { asked, attempt } = failing(100)
    await Promise.allSettled([1, 2].map(() => clock.runUntil(access.ask(attempt, never))))
    const before = asked.length
    const refusal = await access.ask(attempt, never).catch((error: unknown) => error)
    expect(isServiceError(refusal, 'venue_unavailable')).toBe(true)
    expect(String(refusal)).toMatch(/OKX is not asked before 1970-01-01T00:00:\d\d\.\d{3}Z: busy/)
    expect(asked).toHaveLength(before)
  })

  test('is not made after the signal', async () => {
    const { access, failing } = anAccess()
    const { asked, attempt } = failing(0)
    await expect(access.ask(attempt, AbortSignal.abort())).rejects.toThrow()
    expect(asked).toEqual([])
  })
})

test('only so many requests are under way together, and each gets its turn', async () => {
  const { access } = anAccess()
  const release: (() => void)[] = []
  const attempt = (): Promise<void> => new Promise((resolve) => release.push(resolve))
  const all = Array.from({ length: 20 }, () => access.ask(attempt, never))
  let served = 0
  while (served < 20) {
    await new Promise((resolve) => setImmediate(resolve))
    expect(release.length - served).toBe(Math.min(LIMITS.venueRequestsAtOnce, 20 - served))
    release[served]?.()
    served += 1
  }
  await Promise.all(all)
  expect(release).toHaveLength(20)
})
