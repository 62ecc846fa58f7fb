import { isServiceError } from '../../contracts/errors/errors.ts'
import type { NewEvent } from '../../contracts/infra/event.ts'
import { type Position, START } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { EventStore, SubscribeOptions } from '../../services/log/event-store.ts'
import type { RowTables } from '../../services/log/projector/row-tables.ts'
import { appendNext } from '../../testing/append-next.ts'
import type { Around, Part, Seams } from './seams.ts'

/** A fault that is put into a process on purpose, to see that it is found. */
export interface Plant {
  readonly name: string
  /** The fault in words. */
  readonly what: string
  readonly seams: Seams
}

type Append = EventStore['append']

/** Changes the port of one part to the log, and of no other. */
const only =
  (wanted: Part, change: (store: EventStore, around: Around) => Partial<EventStore>) =>
  (part: Part, store: EventStore, around: Around): EventStore =>
    part === wanted ? { ...store, ...change(store, around) } : store

/** Outcome of a failed append. */
const insteadOfFailing = (
  part: Part,
  code: 'append_unknown' | 'revision_conflict',
  instead: (around: Around, store: EventStore, ...append: Parameters<Append>) => ReturnType<Append>,
): Seams => ({
  store: only(part, (store, around) => ({
    async append(...append) {
      try {
        return await store.append(...append)
      } catch (error) {
        if (isServiceError(error, code)) return instead(around, store, ...append)
        throw error
      }
    },
  })),
})

/** Leaves out events of a subscription, as if nobody had been woken for them, and goes on behind them. */
const deaf = (part: Part, share: number, types: readonly string[]): Seams => ({
  store: only(part, (store, { random }) => ({
    async *subscribe(options: SubscribeOptions) {
      for await (const item of store.subscribe(options)) {
        const isMissed = item.kind === 'event' && types.includes(item.event.type) && random.chance(share)
        if (!isMissed) yield item
      }
    },
  })),
})

/** Commits rows now and then without the checkpoint that belongs to them. */
const withoutCheckpoint = (tables: RowTables, { random }: Around): RowTables => {
  const stood = new Map<string, Position>()
  return {
    ...tables,
    commit(changes, newest) {
      const torn = changes.map((change) => {
        const isTorn = change.rows.size > 0 && random.chance(0.1)
        const position = isTorn ? (stood.get(change.name) ?? START) : change.position
        stood.set(change.name, position)
        return { ...change, position }
      })
      tables.commit(torn, newest)
    },
  }
}

export const PLANTS: readonly Plant[] = [
  {
    name: 'lost-fsync',
    what: 'the store answers before what was appended is synced',
    seams: { server: { answersEarly: true, tearsAppends: false } },
  },
  {
    name: 'torn-append',
    what: 'the store syncs the events of one append one by one',
    seams: { server: { answersEarly: false, tearsAppends: true } },
  },
  {
    name: 'doubled-lease',
    what: 'a lease is taken from a holder whose time is not over',
    seams: { leases: { graceMs: -LIMITS.leaseTtlMs } },
  },
  {
    name: 'skipped-number',
    what: 'the dispatcher passes over a signal, and numbers the next as if it had not been',
    seams: {
      store: only('dispatcher', (store) => ({
        async *readAll(options) {
          for await (const event of store.readAll(options)) {
            const isSkipped = event.type === 'VerdictRecorded' && event.revision % 5 === 4
            if (!isSkipped) yield event
          }
        },
      })),
    },
  },
  {
    name: 'double-fold',
    what: 'a read model commits rows without their checkpoint, and folds the same events again',
    seams: { tables: withoutCheckpoint },
  },
  {
    name: 'lost-wakeup',
    what: 'the settler is not woken for a claim, and never looks for it by itself',
    seams: deaf('settler', 0.5, ['PaymentClaimed']),
  },
  {
    name: 'missed-event',
    what: 'a read model goes on behind an event that it was not given',
    seams: deaf('projector', 0.05, ['QuotaDebited', 'VerdictRecorded', 'PaymentClaimed', 'OutcomeLabelled']),
  },
  {
    name: 'guessed-append',
    what: 'a debit whose append has no known outcome is taken for durable',
    seams: insteadOfFailing(
      'quota',
      'append_unknown',
      async (_around, store, stream, events, { expected }) => ({
        revision: (typeof expected === 'number' ? expected : -1) + events.length,
        position: await store.head(),
        replayed: false,
      }),
    ),
  },
  {
    name: 'new-ids',
    what: 'a debit whose append has no known outcome is repeated under other ids',
    seams: insteadOfFailing('quota', 'append_unknown', ({ newId }, store, stream, events) =>
      appendNext(
        store,
        stream,
        events.map((event): NewEvent => ({ ...event, id: newId() })),
      ),
    ),
  },
  {
    name: 'overdrawn-quota',
    what: 'a debit that lost the race for its place is appended all the same',
    seams: insteadOfFailing('quota', 'revision_conflict', (_around, store, stream, events) =>
      appendNext(store, stream, events),
    ),
  },
  {
    name: 'claimed-twice',
    what: 'an authorization that was claimed already is claimed for another answer',
    seams: insteadOfFailing('payments', 'revision_conflict', (_around, store, stream, events) =>
      appendNext(store, stream, events),
    ),
  },
  {
    name: 'early-final',
    what: 'a settlement is called final while its block may still be undone',
    seams: { chain: (chain) => ({ ...chain, finalBlock: async () => Number.MAX_SAFE_INTEGER }) },
  },
  {
    name: 'forgotten-bar',
    what: 'the engine goes on behind a verdict that the log refused',
    seams: {
      store: only('engine', (store) => ({
        async append(...append) {
          const [, events, { expected }] = append
          try {
            return await store.append(...append)
          } catch (error) {
            if (!isServiceError(error) || error.code === 'revision_conflict') throw error
            const revision = (typeof expected === 'number' ? expected : -1) + events.length
            return { revision, position: await store.head(), replayed: false }
          }
        },
      })),
    },
  },
  {
    name: 'timeout-is-delivery',
    what: 'an attempt that did not reach its endpoint is recorded as delivered',
    seams: {
      sender: (sender) => ({
        ...sender,
        async send(request, signal) {
          const outcome = await sender.send(request, signal)
          return outcome.kind === 'connect_failed' ? { ...outcome, kind: 'answered', status: 204 } : outcome
        },
      }),
    },
  },
]
