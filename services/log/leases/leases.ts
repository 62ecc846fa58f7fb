import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { EventStore } from '../event-store.ts'
import { toSequence } from '../sequence-position.ts'
import { createLeasedWork, type Lease, type LeasedWork, type LeaseHandlers } from './leased-work.ts'

export type { Lease } from './leased-work.ts'

/**
 * Shares the numbered shards of a group of work among the processes that do it, through the log. A process that
 * dies loses its shards within seconds; one that joins is given its part.
 */
export interface Leases {
  /** Takes part until the signal, then gives everything back. */
  run(handlers: LeaseHandlers, signal: AbortSignal): Promise<void>
  held(): readonly Lease[]
}

export interface SoleLeasesOptions extends Partial<Pick<Clock, 'sleep'>> {
  readonly store: Pick<EventStore, 'head'>
  readonly shards: number
  readonly report: (error: unknown) => void
}

/**
 * Leases over a store that one process has open: it has all shards at once, and records nothing. The token is the newest
 * position of the log, so that it is above those under which processes wrote before.
 */
export function createSoleLeases({ store, shards, report, sleep: rest = sleep }: SoleLeasesOptions): Leases {
  let work: LeasedWork | undefined
  return {
    async run(handlers, signal) {
      if (signal.aborted) return
      const doing = createLeasedWork(handlers, report)
      work = doing
      let idle = new Set(Array.from({ length: shards }, (_, shard) => shard))
      while (!signal.aborted) {
        try {
          const token = toSequence(await store.head())
          for (const shard of idle) doing.start({ shard, token })
          idle = new Set()
        } catch (error) {
          report(error)
        }
        await rest(LIMITS.leaseRenewMs, signal)
        if (signal.aborted) break
        // Work that would not begin is tried again.
        const stopped = doing.stopped()
        doing.forget(stopped)
        idle = new Set([...idle, ...stopped])
      }
      doing.stopAll()
      await doing.settled()
    },
    held: () => work?.held() ?? [],
  }
}
