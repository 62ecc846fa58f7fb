import { ServiceError } from '../../../contracts/errors.ts'
import type { LeaseHolder } from '../../../contracts/lease-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../event-store/event-store.ts'
import { decideLease, withoutHolder } from './decide-lease.ts'
import { createLeaseLog, type LeaseTable, nextRevision } from './lease-log.ts'
import { createLeasedWork, type LeasedWork } from './leased-work.ts'
import type { Leases } from './leases.ts'

export interface LeasesOptions {
  readonly store: EventStore
  /** Name of the work that is shared. */
  readonly group: string
  /** How many shards it has; the same for all who share it. */
  readonly shards: number
  /** This process, and no other one, also not an earlier one. */
  readonly holder: string
  readonly newId: () => string
  /** Milliseconds of a clock that is never set: only how long something took matters here. */
  readonly elapsed: () => number
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Told of what kept a renewal from happening, and of work that would not begin or end. */
  readonly report: (error: unknown) => void
  readonly ttlMs?: number
  readonly renewMs?: number
  readonly graceMs?: number
}

/** Races lost in a row after which the next try waits for its turn. */
const MOST_RACES = 32
/** How soon a renewal that failed is tried again. */
const RETRY_MS = 250

/**
 * Leases over the log of a store that several processes write to. Nobody compares clocks: a holder stops by itself
 * `ttlMs` after it began its newest renewal, and another takes its shards when it has seen no newer one for `ttlMs`
 * and a grace. A process that was frozen meanwhile is fenced by the token, which is the revision of the event by
 * which the shard was gained.
 *
 * @example
 * const leases = createLeases({ store, group: 'dispatcher', shards: 16, holder: newId(), newId, sleep, … })
 * await leases.run({ gained: async (lease) => start(lease), lost: async (lease) => stop(lease) }, signal)
 */
export function createLeases(options: LeasesOptions): Leases {
  const { group, shards, holder, elapsed, sleep, report } = options
  const { ttlMs = LIMITS.leaseTtlMs, renewMs = LIMITS.leaseRenewMs, graceMs = LIMITS.leaseGraceMs } = options
  const log = createLeaseLog(options)
  /** Of each other holder its newest renewal, and when it was first seen here. */
  let seen = new Map<string, { readonly renewedBy: number; readonly at: number }>()
  /** Until when this process may go on without another renewal. */
  let deadline = Number.NEGATIVE_INFINITY
  let work: LeasedWork | undefined

  const isInTime = (): boolean => elapsed() < deadline

  function observe(holders: readonly LeaseHolder[]): ReadonlySet<string> {
    const at = elapsed()
    const now = new Map<string, { renewedBy: number; at: number }>()
    const silent = new Set<string>()
    for (const { holder: other, renewedBy, ttlMs: theirs } of holders) {
      if (other === holder) continue
      const known = seen.get(other)
      const entry = known?.renewedBy === renewedBy ? known : { renewedBy, at }
      now.set(other, entry)
      if (theirs === null || at - entry.at >= theirs + graceMs) silent.add(other)
    }
    seen = now
    return silent
  }

  /** Says that this process is there. False where somebody else was quicker. */
  async function claim(doing: LeasedWork): Promise<boolean> {
    const before = await log.newest()
    const silent = observe(before.holders)
    // What the log gives to others, or to nobody, is stopped; and is not claimed again before it has.
    doing.keepOnly(sharesOf(before, holder))
    const revision = nextRevision(before.revision)
    const stopped = doing.stopped()
    const begun = elapsed()
    const decision = decideLease(before.holders, { holder, shards, ttlMs, revision, silent, stopped })
    if (!(await log.append('LeaseTaken', decision.table, before.revision))) return false
    deadline = begun + ttlMs
    doing.forget(stopped)
    for (const lease of decision.gained) doing.start(lease)
    for (const shard of decision.surplus) doing.stop(shard)
    return true
  }

  /** Whether this process is known to be there for another while. */
  async function renew(doing: LeasedWork): Promise<boolean> {
    try {
      for (let races = 0; races < MOST_RACES; races++) if (await claim(doing)) return true
      report(
        new ServiceError('store_unavailable', {
          message: `Other processes renewed their leases of ${group} in front of each of ${MOST_RACES} tries`,
        }),
      )
    } catch (error) {
      report(error)
    }
    return false
  }

  /** How long to wait before the next renewal; a process that lost its shards by its own slowness does not. */
  function restAfter(hasRenewed: boolean): number {
    if (!hasRenewed) return isInTime() ? Math.min(RETRY_MS, renewMs, deadline - elapsed()) : RETRY_MS
    return isInTime() ? Math.min(renewMs, deadline - elapsed()) : 0
  }

  async function release(): Promise<void> {
    try {
      for (let races = 0; races < MOST_RACES; races++) {
        const before = await log.newest()
        const table = withoutHolder(before.holders, holder)
        if (table.length === before.holders.length) return
        if (await log.append('LeaseReleased', table, before.revision)) return
      }
    } catch (error) {
      // Nothing is lost: others take over when the time is over.
      report(error)
    }
  }

  return {
    async run(handlers, signal) {
      const doing = createLeasedWork(handlers, report)
      work = doing
      while (!signal.aborted) {
        const renewal = renew(doing)
        const timing = new AbortController()
        const timeUp = isInTime() ? sleep(deadline - elapsed(), timing.signal) : undefined
        await Promise.race([renewal, ...(timeUp === undefined ? [] : [timeUp])])
        if (!isInTime()) doing.stopAll()
        const hasRenewed = await renewal
        timing.abort()
        if (!isInTime()) doing.stopAll()
        await sleep(restAfter(hasRenewed), signal)
      }
      doing.stopAll()
      await doing.settled()
      await release()
      deadline = Number.NEGATIVE_INFINITY
    },
    held: () => (isInTime() ? (work?.held() ?? []) : []),
  }
}

const sharesOf = ({ holders }: LeaseTable, holder: string): ReadonlyMap<number, number> =>
  new Map(
    holders.find((part) => part.holder === holder)?.shards.map(({ shard, token }) => [shard, token] as const),
  )
