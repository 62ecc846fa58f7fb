import { PLAN_LIMITS, type Tier } from '../../../contracts/domain/plans.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import type { DeliveryState } from '../../../contracts/events/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'

/** POSTs in the newest minute, and the newest UTC day, that had one. */
export type Posts = DeliveryState['posts']

const WINDOWS = { minute: 60_000, day: DAY_MS } as const
type Window = keyof typeof WINDOWS

export const NO_POSTS: Posts = { minute: { from: 0, count: 0 }, day: { from: 0, count: 0 } }

const beginOf = (window: Window, at: number): number => at - (at % WINDOWS[window])

const countIn = (posts: Posts, window: Window, at: number): number =>
  posts[window].from === beginOf(window, at) ? posts[window].count : 0

/** With one more at an instant. After the clock was set back it counts anew: nothing waits for a clock to catch up. */
export const withPost = (before: Posts, at: number): Posts => ({
  minute: { from: beginOf('minute', at), count: countIn(before, 'minute', at) + 1 },
  day: { from: beginOf('day', at), count: countIn(before, 'day', at) + 1 },
})

/** The part of the limits that tests have, which no delivery log counts. */
const FOR_TESTS = { minute: LIMITS.webhookTestsPerMinute, day: LIMITS.webhookTestsPerDay } as const
const OF_FREE = { minute: LIMITS.webhookPostsPerMinute, day: LIMITS.webhookPostsPerDay } as const

const mostOf = (tier: Tier, window: Window): number =>
  PLAN_LIMITS[tier].webhookPosts * OF_FREE[window] - FOR_TESTS[window]

/** A limit that an account has reached. */
export interface Reached {
  readonly window: Window
  readonly most: number
  /** When it goes on, Unix milliseconds. */
  readonly until: number
}

/**
 * The limit that keeps an account from sending at an instant; undefined where none does.
 *
 * @param posts of each of its subscriptions
 */
export function reachedBy(posts: Iterable<Posts>, tier: Tier, at: number): Reached | undefined {
  const sums = { minute: 0, day: 0 }
  for (const one of posts) {
    sums.minute += countIn(one, 'minute', at)
    sums.day += countIn(one, 'day', at)
  }
  for (const window of ['day', 'minute'] as const) {
    const most = mostOf(tier, window)
    if (sums[window] >= most) return { window, most, until: beginOf(window, at) + WINDOWS[window] }
  }
  return undefined
}
