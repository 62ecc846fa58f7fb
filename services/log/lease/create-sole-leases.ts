import { LIMITS } from '../../../contracts/limits.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { decideLease } from './decide-lease.ts'
import { createIdleWatch } from './idle-watch.ts'
import { LeaseLog, type LeaseLogOptions, nextRevision } from './lease-log.ts'
import { createLeasedWork, type LeasedWork } from './leased-work.ts'
import type { Lease, Leases } from './leases.ts'

export interface SoleLeasesOptions
  extends Omit<LeaseLogOptions, 'elapsed' | 'sleep'>,
    Partial<Pick<LeaseLogOptions, 'elapsed' | 'sleep'>> {
  readonly shards: number
  /** Told of work that would not begin or end. */
  readonly report: (error: unknown) => void
  readonly idleMs?: number
}

/**
 * Leases over a store that one process has open: it takes all shards, and records that once, so that tokens rise from
 * process to process.
 */
export function createSoleLeases(options: SoleLeasesOptions): Leases {
  const { shards, holder, report, idleMs = LIMITS.leaseIdleMs } = options
  const { elapsed = () => performance.now(), sleep: rest = sleep } = options
  const log = new LeaseLog({ ...options, elapsed, sleep: rest })
  let work: LeasedWork | undefined
  const watch = createIdleWatch((shard) => work?.isWorking(shard) === true, elapsed, idleMs)

  /** Takes everything but what is worked on: at the start, and where work could not begin. */
  const take = (stopped: ReadonlySet<number>): Promise<readonly Lease[]> =>
    log.change((before) => {
      // The other holders in the table had the store open before, and are gone.
      const silent = new Set(before.holders.map((part) => part.holder).filter((other) => other !== holder))
      const revision = nextRevision(before.revision)
      const { table, gained } = decideLease(before.holders, {
        holder,
        shards,
        ttlMs: null,
        revision,
        silent,
        stopped,
      })
      return { record: { type: 'LeaseTaken', table }, result: gained }
    })

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
