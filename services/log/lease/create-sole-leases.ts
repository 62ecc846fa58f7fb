import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { EventStore } from '../event-store.ts'
import { decideLease } from './decide-lease.ts'
import { createIdleWatch } from './idle-watch.ts'
import { createLeaseLog, nextRevision } from './lease-log.ts'
import { createLeasedWork, type LeasedWork } from './leased-work.ts'
import type { Lease, Leases } from './leases.ts'

export interface SoleLeasesOptions {
  readonly store: EventStore
  readonly group: string
  readonly shards: number
  /** This process, and no other one, also not an earlier one. */
  readonly holder: string
  readonly newId: () => string
  /** Told of work that would not begin or end. */
  readonly report: (error: unknown) => void
  /** Milliseconds of a clock that is never set. */
  readonly elapsed?: () => number
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly idleMs?: number
}

/**
 * Leases over a store that one process has open: it takes all shards, and records that once, so that tokens rise from
 * process to process.
 */
export function createSoleLeases(options: SoleLeasesOptions): Leases {
  const { group, shards, holder, report, idleMs = LIMITS.leaseIdleMs } = options
  const { elapsed = () => performance.now(), sleep: rest = sleep } = options
  const log = createLeaseLog({ ...options, elapsed, sleep: rest })
  let work: LeasedWork | undefined
  const watch = createIdleWatch((shard) => work?.isWorking(shard) === true, elapsed, idleMs)

  /** Takes everything but what is worked on: at the start, and where work could not begin. */
  async function take(stopped: ReadonlySet<number>): Promise<readonly Lease[]> {
    const before = await log.newest()
    const revision = nextRevision(before.revision)
    // The other holders in the table had the store open before, and are gone.
    const others = before.holders.map((part) => part.holder).filter((other) => other !== holder)
    const claim = { holder, shards, ttlMs: null, revision, silent: new Set(others), stopped }
    const { table, gained } = decideLease(before.holders, claim)
    if (await log.append('LeaseTaken', table, before.revision)) return gained
    throw new ServiceError('store_locked', {
      message: `Another process took leases of ${group} in a store that only one process should have open`,
    })
  }

  /** Tries again what would not begin. */
  async function retake(doing: LeasedWork): Promise<void> {
    const stopped = doing.stopped()
    if (stopped.size === 0) return
    try {
      const gained = await take(stopped)
      doing.forget(stopped)
      for (const lease of gained) doing.start(lease)
    } catch (error) {
      report(error)
    }
  }

  return {
    async run(handlers, signal) {
      if (signal.aborted) return
      // Nothing is worked on yet, even if the log gives shards to this holder.
      const gained = await take(new Set(Array.from({ length: shards }, (_, shard) => shard)))
      const doing = createLeasedWork(handlers, report)
      work = doing
      for (const lease of gained) doing.start(lease)
      watch.assign(gained.map(({ shard }) => shard))
      while (!signal.aborted) {
        await rest(LIMITS.leaseRenewMs, signal)
        if (!signal.aborted) await retake(doing)
      }
      watch.assign([])
      doing.stopAll()
      await doing.settled()
    },
    held: () => work?.held() ?? [],
    idle: () => watch.idle(),
  }
}
