import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import type { NewEvent, RecordedEvent } from '../../contracts/infra/event.ts'
import { type Position, START } from '../../contracts/infra/position.ts'
import type {
  AppendResult,
  EventFilter,
  EventStore,
  SubscribeOptions,
  SubscriptionItem,
} from '../../services/log/event-store.ts'
import { followLog, matchesFilter } from '../../services/log/follow-log.ts'
import { toSequence } from '../../services/log/sequence-position.ts'
import { validateAppend } from '../../services/log/validate-append.ts'
import { createMemoryLog, type MemoryLog, openMemoryStore } from '../../testing/memory-store/memory-store.ts'
import type { Random } from '../cluster/random.ts'
import { type Failures, type Host, type Network, never } from './network.ts'
import type { SimulatedTime } from './time.ts'

export type DiskState = 'well' | 'full' | 'failing'

/** A server that keeps the log, and the disk under it. */
export interface StoreServer {
  /** The synced part, as a reader beside the process sees it. */
  readonly store: EventStore
  disk: DiskState
  /** Stops at once: what was not synced is gone, or has come to the disk by chance. */
  readonly crash: () => void
  restart(): void
  /** Stops it in the middle of a sync that comes soon; of several events, where there are some. */
  crashInSync(): void
  append(...append: Parameters<EventStore['append']>): Promise<AppendResult>
  /** @param arrival waited for before anything new is told of */
  follow(
    after: Position,
    filter: EventFilter | undefined,
    arrival: () => Promise<void>,
    signal: AbortSignal,
  ): AsyncGenerator<SubscriptionItem, void, void>
  readonly isUp: boolean
  /** All that is synced but streams of people, as whoever stands beside it reads it. */
  log(): readonly RecordedEvent[]
}

/** Changes that a planted fault makes to a server. */
export interface StoreSeams {
  /** Answers before what was appended is synced. */
  readonly answersEarly: boolean
  /** Syncs the events of an append one by one. */
  readonly tearsAppends: boolean
}

interface Waiting {
  readonly append: Parameters<EventStore['append']>
  readonly resolve: (result: AppendResult) => void
  readonly reject: (error: unknown) => void
}

const MOST_AT_ONCE = 4
const MOST_SYNCS = 20
const [SYNC_LEAST_MS, SYNC_MOST_MS] = [0.5, 6]

/**
 * The semantics are those of the store in memory. In front of it stands a disk: appends wait for a sync, several at a
 * time; nothing is read or answered before, and a crash or a failed sync may lose them, from anywhere on.
 */
// oxlint-disable-next-line max-lines-per-function -- the methods of a server over one array of events
export function createStoreServer(options: {
  readonly time: Pick<SimulatedTime, 'now' | 'after' | 'note'>
  readonly random: Random
  readonly seams?: StoreSeams
}): StoreServer {
  const { time, random, seams } = options
  const log = createMemoryLog()
  const inner = openMemoryStore({ now: time.now, log })
  let waiting: Waiting[] = []
  let syncing: readonly Waiting[] = []
  let isUp = true
  /** Counts crashes: what was begun before one is not gone on with. */
  let life = 0
  /** How many events are on the disk for certain. */
  let synced = 0
  /** One of the next so many syncs ends with a crash; 0 for none. */
  let crashWithin = 0

  const write = ({ append }: Waiting): Promise<AppendResult> => inner.append(...append)
  const unknownError = (): ServiceError =>
    new ServiceError('append_unknown', { message: 'the connection broke' })

  function sync(): void {
    if (!isUp || syncing.length > 0 || waiting.length === 0) return
    syncing = waiting.splice(0, 1 + random.below(MOST_AT_ONCE))
    const own = life
    if (seams?.answersEarly === true) void finish(own)
    const takesMs = random.between(SYNC_LEAST_MS, SYNC_MOST_MS)
    crashSoon(takesMs)
    time.after(takesMs, () => {
      if (own !== life) return
      if (seams?.answersEarly === true) done(own)
      else void finishAndGoOn(own)
    })
  }

  function done(own: number): void {
    if (own !== life) return
    synced = log.rows.length
    syncing = []
    sync()
  }

  async function finishAndGoOn(own: number): Promise<void> {
    await finish(own)
    done(own)
  }

  function crashSoon(takesMs: number): void {
    if (crashWithin === 0) return
    crashWithin -= 1
    if (crashWithin > 0 && syncing.every(({ append: [, events] }) => events.length === 1)) return
    crashWithin = 0
    // As often in it as while its last bytes are written, which is the shorter time.
    const inMs = random.chance(0.5) ? random.between(0, takesMs) : takesMs + random.between(0, SYNC_LEAST_MS)
    time.after(inMs, server.crash)
  }

  async function finish(own: number): Promise<void> {
    const { disk } = server
    if (disk === 'failing') time.note('the disk fails to sync')
    // Whatever comes behind one that did not come to the disk did not either.
    let isLost = false
    for (const one of syncing) {
      if (disk === 'full') {
        one.reject(new ServiceError('store_full'))
        continue
      }
      isLost ||= disk === 'failing' && random.chance(0.5)
      if (isLost) {
        one.reject(unknownError())
        continue
      }
      const outcome = await (seams?.tearsAppends === true ? torn(one, own) : write(one)).then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      )
      if (disk === 'failing') one.reject(unknownError())
      else if ('error' in outcome) one.reject(outcome.error)
      else one.resolve(outcome.value)
    }
  }

  async function torn(
    { append: [stream, events, { expected }] }: Waiting,
    own: number,
  ): Promise<AppendResult> {
    let result = await inner.append(stream, events.slice(0, 1), { expected })
    for (const event of events.slice(1)) {
      await new Promise<void>((resolve) => time.after(SYNC_LEAST_MS, resolve))
      if (own !== life) throw unknownError()
      result = await inner.append(stream, [event], { expected: result.revision })
    }
    return result
  }

  const server: StoreServer = {
    store: inner,
    disk: 'well',
    get isUp() {
      return isUp
    },
    crash() {
      time.note('the store crashes')
      isUp = false
      life += 1
      const broken = [...syncing, ...waiting]
      const kept = random.below(syncing.length + 1)
      if (seams?.answersEarly === true) cutOff(log, synced)
      // The disk may have had them all the same.
      else for (const one of syncing.slice(0, kept)) void write(one).catch(() => undefined)
      synced = log.rows.length
      syncing = []
      waiting = []
      for (const { reject } of broken) reject(unknownError())
    },
    log: () => log.rows.filter((row) => matchesFilter(row, undefined)).map(eventOf),
    crashInSync() {
      // Half of the time it waits for several events, however long: they are few.
      crashWithin = random.chance(0.5) ? Number.POSITIVE_INFINITY : 1 + random.below(MOST_SYNCS)
    },
    follow(after, filter, arrival, signal) {
      return followLog(
        after,
        {
          readPage(from, limit) {
            const rows = log.rows.slice(toSequence(from), toSequence(from) + limit)
            return {
              events: rows.filter((row) => matchesFilter(row, filter)).map(eventOf),
              lookedUpTo: rows.at(-1)?.position ?? from,
            }
          },
          head: () => log.rows.at(-1)?.position ?? START,
          appended: {
            get count() {
              return log.appended.count
            },
            notify: () => undefined,
            async wait(seen, until) {
              await log.appended.wait(seen, until)
              if (!until.aborted) await arrival()
            },
          },
        },
        signal,
      )
    },
    restart() {
      isUp = true
      crashWithin = 0
      sync()
    },
    async append(...append) {
      validateAppend(append[0], append[1], append[2].expected)
      if (!isUp) throw new ServiceError('store_unavailable')
      const { promise, resolve, reject } = Promise.withResolvers<AppendResult>()
      waiting.push({ append, resolve, reject })
      sync()
      return promise
    },
  }
  return server
}

/** Everybody who follows the log is given the same one: nothing that reads an event may change it. */
const given = new WeakMap<object, RecordedEvent>()
function eventOf(row: MemoryLog['rows'][number]): RecordedEvent {
  const known = given.get(row)
  if (known !== undefined) return known
  const event: RecordedEvent = {
    ...row,
    data: JSON.parse(row.data) as RecordedEvent['data'],
    meta: JSON.parse(row.meta) as RecordedEvent['meta'],
  }
  given.set(row, event)
  return event
}

/** Forgets all events behind so many. */
function cutOff(log: MemoryLog, length: number): void {
  for (const { id, stream } of log.rows.splice(length)) {
    log.byId.delete(id)
    const rows = log.byStream.get(stream)
    rows?.pop()
    if (rows?.length === 0) log.byStream.delete(stream)
  }
}

/** Acknowledgements that a process got. */
export interface Acknowledged {
  readonly stream: string
  readonly events: readonly NewEvent[]
  readonly result: AppendResult
}

const AWAY: Failures = {
  unknown: () => new ServiceError('store_unavailable', { message: 'no answer in time' }),
  away: () => new ServiceError('store_unavailable', { message: 'it cannot be reached' }),
}
const APPENDING: Failures = {
  unknown: () => new ServiceError('append_unknown', { message: 'no answer in time' }),
  away: AWAY.away,
}

/** The log as one process reaches it over the network. */
export function connectStore(server: StoreServer, network: Network, host: Host): EventStore {
  const closing = new AbortController()
  const isOver = AbortSignal.any([closing.signal, host.dead])

  function ask<Value>(what: string, work: () => Promise<Value>, failures = AWAY): Promise<Value> {
    if (closing.signal.aborted) {
      return Promise.reject(new ServiceError('store_unavailable', { message: 'the store is closed' }))
    }
    return network.call(
      host,
      'store',
      what,
      async () => {
        if (!server.isUp) throw new ServiceError('store_unavailable', { message: 'it is down' })
        return work()
      },
      failures,
    )
  }

  /** Asked for over the network once, and given as it is taken. */
  async function* handedOver<Item>(what: string, read: () => AsyncIterable<Item>): AsyncGenerator<Item> {
    const items = await ask(what, async () => read())
    for await (const item of items) {
      if (host.dead.aborted) await never()
      yield item
    }
  }

  /** Woken over the network, and told then of all that there is: a slow wake finds the more. */
  async function* subscribe({ after, filter, signal }: SubscribeOptions): AsyncGenerator<SubscriptionItem> {
    const ending = AbortSignal.any([signal, isOver])
    while (!ending.aborted) {
      try {
        const from = after === 'end' ? await ask('subscribe', () => server.store.head()) : after
        yield* server.follow(from, filter, () => network.arrival(host, 'store'), ending)
      } catch (error) {
        if (!isServiceError(error, 'store_unavailable')) throw error
      }
    }
    if (host.dead.aborted) await never()
  }

  const { store } = server
  return {
    append: (stream, events, options) =>
      ask(`append ${stream}`, () => server.append(stream, events, options), APPENDING),
    read: (stream, options) => handedOver(`read ${stream}`, () => store.read(stream, options)),
    readAll: (options) => handedOver('readAll', () => store.readAll(options)),
    subscribe(options) {
      if (closing.signal.aborted)
        throw new ServiceError('store_unavailable', { message: 'the store is closed' })
      return subscribe(options)
    },
    erase: (stream) => ask(`erase ${stream}`, () => store.erase(stream)),
    head: () => ask('head', () => store.head()),
    async health() {
      const ok = server.isUp && !closing.signal.aborted
      return { ok, adapter: 'simulated', detail: ok ? 'up' : 'down' }
    },
    async close() {
      closing.abort()
    },
  }
}
