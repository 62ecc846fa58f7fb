import { ServiceError } from '../../../contracts/errors.ts'
import type { Revision } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { type LeaseHolder, LeaseReleased, LeaseTaken } from '../../../contracts/lease-events.ts'
import { leaseStream } from '../../../contracts/streams.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { appendedOr, appendUntilKnown, PURSUED_BRIEFLY } from '../append-until-known.ts'
import type { EventStore } from '../event-store.ts'

/** Everybody's part of a group of work, and where the log says so. */
export interface LeaseTable {
  readonly revision: Revision | 'no-stream'
  readonly holders: readonly LeaseHolder[]
}

/** The stream of a group's leases; its newest event says everything. */
export interface LeaseLog {
  newest(): Promise<LeaseTable>
  /** Appends after what was read; false where another append was first. @throws ServiceError of the store; `outcome_unknown` */
  append(
    type: 'LeaseTaken' | 'LeaseReleased',
    table: readonly LeaseHolder[],
    behind: LeaseTable['revision'],
  ): Promise<boolean>
}

export interface LeaseLogOptions extends Pick<Clock, 'sleep'> {
  readonly store: EventStore
  readonly group: string
  readonly holder: string
  readonly newId: () => string
  /** Milliseconds of a clock that is never set. */
  readonly elapsed: () => number
}

export const nextRevision = (revision: LeaseTable['revision']): Revision =>
  revision === 'no-stream' ? 0 : revision + 1

export function createLeaseLog(options: LeaseLogOptions): LeaseLog {
  const { store, group, holder, newId, elapsed, sleep } = options
  // Its own patience ends it: what gives leases back does so when everything else has been told to end.
  const { signal } = new AbortController()
  const path = { store, policy: PURSUED_BRIEFLY, now: elapsed, sleep, signal }
  const unknown = {
    what: `${holder} has renewed or given back its leases of ${group}`,
    again: 'The next renewal reads what became of it.',
  }
  const stream = leaseStream(group)
  return {
    async newest() {
      for await (const recorded of store.read(stream, { direction: 'backwards', limit: 1 })) {
        const event = decodeEvent(recorded)
        if (event.type !== 'LeaseTaken' && event.type !== 'LeaseReleased') {
          throw new ServiceError('event_unreadable', {
            message: `The stream ${stream} holds a ${event.type} at revision ${event.revision}.`,
          })
        }
        return { revision: event.revision, holders: event.data.table }
      }
      return { revision: 'no-stream', holders: [] }
    },

    async append(type, table, behind) {
      const id = newId()
      const meta = { correlationId: id, actor: holder }
      const data = { group, holder, table: [...table] }
      const event = newEvent(type === 'LeaseTaken' ? LeaseTaken : LeaseReleased, { id, data, meta })
      const outcome = await appendUntilKnown(path, { stream, events: [event], expected: behind })
      return appendedOr(outcome, unknown) !== undefined
    },
  }
}
