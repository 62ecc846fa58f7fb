import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import { type Position, START } from '../../contracts/position.ts'
import type { Clock } from '../runtime/async/clock.ts'
import type { EventFilter, EventStore, SubscribeOptions, SubscriptionItem } from './event-store.ts'
import { readIdentity } from './store-identity.ts'

export interface LogGuardOptions extends Pick<Clock, 'sleep'> {
  /** Id of the log's first event. */
  readonly logId: string
  /** How often it is asked without a reason, in milliseconds. */
  readonly everyMs: number
  readonly signal: AbortSignal
}

export interface LogGuard {
  /** The store, as long as it is the one that it was: afterwards every call is refused with `store_mismatch`. */
  readonly store: EventStore
  /** Rejects with `store_mismatch` when another log answers; never resolves. */
  readonly failure: Promise<never>
  /** The store that answers may be another by now: nothing is appended before it is identified. */
  suspect(): void
}

/** An event that somebody followed, and how it is found again. */
interface Seen {
  readonly id: string
  readonly after: Position
  readonly filter?: EventFilter | undefined
}

/**
 * Watches that the log is still the one that this process began with, and was not emptied, restored or exchanged: by the
 * id of its first event, and by the newest event that was followed. Looks after each failure, before the next append,
 * and now and then.
 */
export function guardLog(inner: EventStore, { logId, everyMs, sleep, signal }: LogGuardOptions): LogGuard {
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  let seen: Seen | undefined
  let mismatch: ServiceError | undefined
  let isSuspect = false
  let checking: Promise<void> | undefined

  async function check(): Promise<void> {
    isSuspect = false
    try {
      await requireSameLog(inner, logId, seen)
    } catch (error) {
      isSuspect = true
      if (isServiceError(error, 'store_mismatch')) {
        mismatch = error
        failed.reject(error)
      }
      throw error
    }
  }

  /** Resolves when it is known that the log is the same. One look serves all who wait for it. */
  function trusted(): Promise<void> {
    checking ??= check().finally(() => {
      checking = undefined
    })
    return checking
  }

  async function watch(): Promise<void> {
    // oxlint-disable-next-line no-unmodified-loop-condition -- a look changes it
    while (!signal.aborted && mismatch === undefined) {
      await sleep(everyMs, signal)
      // What keeps it from being asked is the store's own trouble, and told as that.
      if (!signal.aborted) await trusted().catch(() => undefined)
    }
  }
  void watch()

  /** The store, unless another log answers by now. */
  function same(): EventStore {
    if (mismatch !== undefined) throw mismatch
    return inner
  }

  return {
    failure: failed.promise,
    suspect() {
      isSuspect = true
    },
    store: {
      ...inner,
      async append(stream, events, options) {
        same()
        if (isSuspect) await trusted()
        try {
          return await inner.append(stream, events, options)
        } catch (error) {
          if (isServiceError(error, 'store_unavailable') || isServiceError(error, 'append_unknown'))
            isSuspect = true
          throw error
        }
      },
      read: (stream, options) => same().read(stream, options),
      readAll: (options) => same().readAll(options),
      subscribe: (options) =>
        followed(same().subscribe(options), options, (event) => {
          same()
          seen = event ?? seen
        }),
      async health() {
        if (mismatch === undefined) return inner.health()
        return { ok: false, adapter: 'eventstoredb', detail: mismatch.message }
      },
    },
  }
}

const positionOf = (item: SubscriptionItem): Position =>
  item.kind === 'event' ? item.event.position : item.position

/** Passes items on; before each it calls `see`, with the event by which the log can be identified again, if any. */
async function* followed(
  items: AsyncIterable<SubscriptionItem>,
  options: SubscribeOptions,
  see: (event: Seen | undefined) => void,
): AsyncGenerator<SubscriptionItem, void, void> {
  let after: Position | undefined = options.after === 'end' ? undefined : options.after
  for await (const item of items) {
    const isMark = item.kind === 'event' && after !== undefined && after !== START
    see(isMark ? { id: item.event.id, after: after as Position, filter: options.filter } : undefined)
    after = positionOf(item)
    yield item
  }
}

/** @throws ServiceError `store_mismatch` unless the log begins with that event and still holds the other */
async function requireSameLog(inner: EventStore, logId: string, before: Seen | undefined): Promise<void> {
  const first = await readIdentity(inner)
  if (first === undefined) throw otherLogError('it has no first event that identifies it')
  if (first.id !== logId) throw otherLogError('its first event is another')
  if (before !== undefined && !(await isNext(inner, before))) {
    throw otherLogError('an event that was read before is not in it: it was restored from an older copy')
  }
}

/** Whether an event is the first after a place of a log. */
export async function isNext(
  log: Pick<EventStore, 'readAll'>,
  { id, after, filter }: Seen,
): Promise<boolean> {
  try {
    const options = { after, limit: 1, ...(filter && { filter }) }
    for await (const event of log.readAll(options)) return event.id === id
    return false
  } catch (error) {
    // The position is none of this log.
    if (isServiceError(error, 'invalid_request')) return false
    throw error
  }
}

const otherLogError = (what: string): ServiceError =>
  new ServiceError('store_mismatch', { message: `another log answers where this one did: ${what}` })
