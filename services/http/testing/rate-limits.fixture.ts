import type { RateLimits } from '../rate-limits.ts'

/** Limits of a hundred requests a second for all together, on a clock of the test. */
export function rateLimitsOn(now: () => number): RateLimits {
  const limit = 100
  let [count, endsAt] = [0, Number.NEGATIVE_INFINITY]
  return {
    async take() {
      if (now() >= endsAt) [count, endsAt] = [0, now() + 1_000]
      count += 1
      const [isAdmitted, remaining] = [count <= limit, Math.max(0, limit - count)]
      const seconds = Math.ceil((endsAt - now()) / 1_000)
      return { isAdmitted, states: [{ policy: 'address', limit, remaining, isAdmitted, seconds }] }
    },
  }
}
