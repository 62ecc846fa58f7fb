import type { Tier } from '../../../contracts/domain/plans.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { NO_POSTS, type Posts, reachedBy, withPost } from '../deliveries/posts.ts'

const MINUTE_MS = 60_000
/** A new plan counts after this time at the latest. */
const LOOK_AGAIN_MS = MINUTE_MS
/** A turn at a host that its owner does not take ends after this time. */
const TURN_MS = 5_000
/** A fifth of a host's minute may go at once. */
const AT_ONCE = LIMITS.webhookPostsPerHost / 5
const STEP_MS = MINUTE_MS / (LIMITS.webhookPostsPerHost - AT_ONCE)

export type Allowance = ReturnType<typeof createAllowance>

/** The endpoint of an attempt. */
interface Sending {
  readonly id: string
  /** The account that sends; of free ones of one mailbox all. */
  readonly countedAs: string
  readonly tier: Tier
  /** Undefined before it is known. */
  readonly hostname: string | undefined
}

/** An endpoint that has to wait. */
interface Wait {
  readonly ms: number
  /** Whether for its owner's turn at a host, and not for a limit of its account. */
  readonly isForHost: boolean
}

/** Turns of free accounts at one host; times are of the monotonic clock. */
interface Host {
  nextMs: number
  /** The turn that each owner waits for: one, so that none is in front of another twice. */
  readonly turns: Map<string, number>
}

/**
 * Bounds the POSTs of each account, and those of all free accounts to one host: this process' share of them, by the
 * shards that it has.
 *
 * @param clock `now` in Unix milliseconds; `elapsed` monotonic
 */
export function createAllowance(clock: {
  readonly now: () => number
  readonly elapsed: () => number
  /** Share of all subscriptions that this process sends for. */
  readonly share: () => number
}) {
  let day = 0
  const owners = new Map<string, Map<string, Posts>>()
  const hosts = new RecentMap<string, Host>(LIMITS.webhookOrigins)

  function postsOf(owner: string): Map<string, Posts> {
    const today = Math.floor(clock.now() / DAY_MS)
    if (today !== day) owners.clear()
    day = today
    const posts = owners.get(owner) ?? new Map<string, Posts>()
    owners.set(owner, posts)
    return posts
  }

  /** The wait of an owner for its turn at a host, in milliseconds. */
  function turnIn(hostname: string, owner: string): number {
    const nowMs = clock.elapsed()
    const stepMs = STEP_MS / clock.share()
    const host = hosts.get(hostname) ?? { nextMs: Number.NEGATIVE_INFINITY, turns: new Map<string, number>() }
    hosts.set(hostname, host)
    let turn = host.turns.get(owner) ?? Number.NEGATIVE_INFINITY
    if (turn < nowMs - TURN_MS) {
      turn = Math.max(host.nextMs, nowMs - AT_ONCE * STEP_MS)
      host.nextMs = turn + stepMs
    }
    if (turn > nowMs) host.turns.set(owner, turn)
    else host.turns.delete(owner)
    return Math.max(0, turn - nowMs)
  }

  return {
    /** Takes over the POSTs of a subscription, as the log has them. */
    knows({ id, countedAs }: Pick<Sending, 'id' | 'countedAs'>, posts: Posts): void {
      const known = postsOf(countedAs)
      if (posts.day.count > (known.get(id)?.day.count ?? 0)) known.set(id, posts)
    },
    /** Counts an attempt. @returns undefined, or what it waits for: then it is not counted */
    take({ id, countedAs, tier, hostname }: Sending): Wait | undefined {
      const now = clock.now()
      const posts = postsOf(countedAs)
      const reached = reachedBy(posts.values(), tier, now)
      if (reached !== undefined) return { ms: Math.min(reached.until - now, LOOK_AGAIN_MS), isForHost: false }
      const ms = tier === 'free' && hostname !== undefined ? turnIn(hostname, countedAs) : 0
      if (ms > 0) return { ms, isForHost: true }
      posts.set(id, withPost(posts.get(id) ?? NO_POSTS, now))
      return undefined
    },
  }
}
