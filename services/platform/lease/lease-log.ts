import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { Revision } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { type LeaseHolder, LeaseReleased, LeaseTaken } from '../../../contracts/lease-events.ts'
import { leaseStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../event-store/event-store.ts'

/** Everybody's part of a group of work, and where the log says so. */
export interface LeaseTable {
  readonly revision: Revision | 'no-stream'
  readonly holders: readonly LeaseHolder[]
}

/** The stream of a group's leases; its newest event says everything. */
export interface LeaseLog {
  newest(): Promise<LeaseTable>
  /**
   * Appends behind what was read. False where somebody else was quicker: read again, and decide anew.
   *
   * @throws ServiceError of the store, once it was told the same several times
   */
  append(
    type: 'LeaseTaken' | 'LeaseReleased',
    table: readonly LeaseHolder[],
    behind: LeaseTable['revision'],
  ): Promise<boolean>
}

export interface LeaseLogOptions {
  readonly store: EventStore
  readonly group: string
  readonly holder: string
  readonly newId: () => string
}

/** An append of unknown outcome is repeated so often: with its id and revision it happens once. */
const TRIES = 3

/** @example nextRevision('no-stream') === 0 */
export const nextRevision = (revision: LeaseTable['revision']): Revision =>
  revision === 'no-stream' ? 0 : revision + 1

export function createLeaseLog({ store, group, holder, newId }: LeaseLogOptions): LeaseLog {
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
      for (let tries = 1; ; tries++) {
        try {
          await store.append(stream, [event], { expected: behind })
          return true
        } catch (error) {
          if (isServiceError(error, 'revision_conflict')) return false
          if (!isServiceError(error, 'append_unknown') || tries === TRIES) throw error
        }
      }
    },
  }
}
