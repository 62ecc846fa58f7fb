import { ServiceError } from '../../../contracts/errors.ts'
import type { EventStore } from '../event-store/event-store.ts'
import { decideLease } from './decide-lease.ts'
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
}

/**
 * Leases over a store that only one process can have open: it has all shards at once and until it ends, and says so
 * once, so that tokens rise from one process to the next.
 *
 * @throws ServiceError of the store, from `run`
 */
export function createSoleLeases(options: SoleLeasesOptions): Leases {
  const { group, shards, holder, report } = options
  const log = createLeaseLog(options)
  let work: LeasedWork | undefined

  async function takeAll(): Promise<readonly Lease[]> {
    const before = await log.newest()
    const revision = nextRevision(before.revision)
    // Whoever is in the table had the store open before, and is gone.
    const silent = new Set(before.holders.map((part) => part.holder))
    const claim = { holder, shards, ttlMs: null, revision, silent, stopped: new Set<number>() }
    const { table, gained } = decideLease([], claim)
    if (await log.append('LeaseTaken', table, before.revision)) return gained
    throw new ServiceError('store_locked', {
      message: `Another process took leases of ${group} in a store that only one process should have open`,
    })
  }

  return {
    async run(handlers, signal) {
      if (signal.aborted) return
      const gained = await takeAll()
      const doing = createLeasedWork(handlers, report)
      work = doing
      for (const lease of gained) doing.start(lease)
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve()
        else signal.addEventListener('abort', () => resolve(), { once: true })
      })
      doing.stopAll()
      await doing.settled()
    },
    held: () => work?.held() ?? [],
  }
}
