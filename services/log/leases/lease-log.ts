import { assert } from '../../../contracts/errors/assert.ts'
import { decodeEventOf } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { type LeaseHolder, LeaseReleased, LeaseTaken } from '../../../contracts/events/lease-events.ts'
import { leaseStream } from '../../../contracts/events/streams.ts'
import type { Revision } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { RETRY_IN_BACKGROUND } from '../append-with-retry.ts'
import { type Decision, executeCommand } from '../command-handler.ts'
import type { EventStore } from '../event-store.ts'

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

/**
 * Decides over the newest table of a group, again if another append was first; the newest event of its stream says
 * everything. Ends when the next renewal is due. @throws ServiceError of {@link executeCommand}
 */
export async function changeLeases<Result>(
  { store, group, holder, newId, elapsed, sleep }: LeaseLogOptions,
  decide: (before: LeaseTable) => LeaseChange<Result>,
): Promise<Result> {
  const stream = leaseStream(group)
  const ending = new AbortController()
  const { signal } = ending
  void sleep(LIMITS.leaseRenewMs, signal).then(() => ending.abort())
  const path = { store, policy: RETRY_IN_BACKGROUND, now: elapsed, sleep, signal }

  async function load(): Promise<{ state: LeaseTable; revision: LeaseTable['revision'] }> {
    for await (const recorded of store.read(stream, { direction: 'backwards', limit: 1 })) {
      const { revision, data } = decodeEventOf(recorded, 'LeaseTaken', 'LeaseReleased')
      return { state: { revision, holders: data.table }, revision }
    }
    return { state: { revision: 'no-stream', holders: [] }, revision: 'no-stream' }
  }
  function decideEvent(before: LeaseTable): Decision<Result> {
    const { record, result } = decide(before)
    if (record === undefined) return { events: [], result }
    requireRisingTerms(before, record.table)
    const id = newId()
    const data = { group, holder, table: [...record.table] }
    const definition = record.type === 'LeaseTaken' ? LeaseTaken : LeaseReleased
    return {
      events: [newEvent(definition, { id, data, meta: { correlationId: id, actor: holder } })],
      result,
    }
  }
  const unknown = {
    what: `${holder} has renewed or given back its leases of ${group}`,
    again: 'The next renewal reads what became of it.',
  }
  try {
    return (await executeCommand(path, { stream, load, decide: decideEvent, unknown })).result
  } finally {
    ending.abort()
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
