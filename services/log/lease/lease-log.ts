import { assert } from '../../../contracts/assert.ts'
import type { Revision } from '../../../contracts/event.ts'
import { decodeEventOf } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { type LeaseHolder, LeaseReleased, LeaseTaken } from '../../../contracts/lease-events.ts'
import { leaseStream } from '../../../contracts/streams.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { PURSUED_BRIEFLY } from '../append-until-known.ts'
import type { EventStore } from '../event-store.ts'
import { executeCommand } from '../execute-command.ts'

/** Everybody's part of a group of work, and where the log says so. */
export interface LeaseTable {
  readonly revision: Revision | 'no-stream'
  readonly holders: readonly LeaseHolder[]
}

/** A decided table to record, if any, and the result once it is durable. */
export interface LeaseChange<Result> {
  readonly record?: { readonly type: 'LeaseTaken' | 'LeaseReleased'; readonly table: readonly LeaseHolder[] }
  readonly result: Result
}

export interface LeaseLogOptions extends Pick<Clock, 'sleep' | 'elapsed'> {
  readonly store: EventStore
  readonly group: string
  /** This process, and no other one, also not an earlier one. */
  readonly holder: string
  readonly newId: () => string
}

export const nextRevision = (revision: LeaseTable['revision']): Revision =>
  revision === 'no-stream' ? 0 : revision + 1

/** The stream of a group's leases; its newest event says everything. */
export class LeaseLog {
  readonly #options: LeaseLogOptions
  readonly #stream: string

  constructor(options: LeaseLogOptions) {
    this.#options = options
    this.#stream = leaseStream(options.group)
  }

  async newest(): Promise<LeaseTable> {
    for await (const recorded of this.#options.store.read(this.#stream, {
      direction: 'backwards',
      limit: 1,
    })) {
      const event = decodeEventOf(recorded, 'LeaseTaken', 'LeaseReleased')
      return { revision: event.revision, holders: event.data.table }
    }
    return { revision: 'no-stream', holders: [] }
  }

  /** Decides over the newest table, again where another append was first. @throws ServiceError of {@link executeCommand} */
  async change<Result>(decide: (before: LeaseTable) => LeaseChange<Result>): Promise<Result> {
    const { store, group, holder, newId, elapsed, sleep } = this.#options
    // Its own patience ends it: leases are given back when everything else has been told to end.
    const { signal } = new AbortController()
    const path = { store, policy: PURSUED_BRIEFLY, now: elapsed, sleep, signal }
    const { result } = await executeCommand<LeaseTable, Result>(path, {
      stream: this.#stream,
      load: async () => {
        const state = await this.newest()
        return { state, revision: state.revision }
      },
      decide(before) {
        const { record, result: decided } = decide(before)
        if (record === undefined) return { events: [], result: decided }
        requireRisingTerms(before, record.table)
        const id = newId()
        const data = { group, holder, table: [...record.table] }
        const definition = record.type === 'LeaseTaken' ? LeaseTaken : LeaseReleased
        return {
          events: [newEvent(definition, { id, data, meta: { correlationId: id, actor: holder } })],
          result: decided,
        }
      },
      unknown: {
        what: `${holder} has renewed or given back its leases of ${group}`,
        again: 'The next renewal reads what became of it.',
      },
    })
    return result
  }
}

/** A token is kept with its shard, or is the revision of the event that gives the shard to somebody else. */
function requireRisingTerms({ revision, holders }: LeaseTable, table: readonly LeaseHolder[]): void {
  const before = new Map(
    holders.flatMap(({ holder, shards }) => shards.map(({ shard, token }) => [shard, { holder, token }])),
  )
  for (const { holder, shards } of table) {
    for (const { shard, token } of shards) {
      const former = before.get(shard)
      const isKept = former?.holder === holder && former.token === token
      assert(isKept || token === nextRevision(revision), 'the term of a lease only rises', token)
    }
  }
}
