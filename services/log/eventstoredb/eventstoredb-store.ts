import { randomUUID } from 'node:crypto'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Position } from '../../../contracts/position.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import type { AppendResult, EventStore, ExpectedRevision } from '../event-store.ts'
import { bytesOf, type EncodedEvent, requireErasable, validateAppend } from '../validate-append.ts'
import { type AppendContext, appendEvents } from './append-events.ts'
import { createAppendWatch } from './append-watch.ts'
import { appendError, isClientError } from './client-errors.ts'
import { createConnection } from './connect.ts'
import { createLogTail, type FollowContext } from './log-tail.ts'
import { type ReadContext, readCopies, readHead, readStoredStream, readWholeLog } from './read-events.ts'
import type { StoredEvent } from './recorded-event.ts'

export interface EventStoreDbOptions {
  /** `esdb://name:password@host:2113?tls=true`. It is never printed. */
  readonly connectionString: string
  /** How long an append, or the next part of a read, may stay without an answer. */
  readonly answerTimeoutMs?: number
  /** A new UUID at each call. */
  readonly newId?: () => string
  /** From 0 up to, but not including, 1: the jitter of waits. */
  readonly random?: () => number
  /** Resolves after the time, or as soon as the signal is aborted. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  /** A clock that is never set, milliseconds. */
  readonly elapsed?: () => number
  /** Told of each break of the subscription, which then resumes by itself; at once where it was only too slow. */
  readonly onSubscriptionBreak?: (error: ServiceError, resumeInMs: number) => void
  /** Told of the first event in the log that something else wrote: such events are left out. */
  readonly onForeignEvent?: (place: StoredEvent) => void
}

/** The store, with what a copy of a whole log needs besides. */
export interface EventStoreDbStore extends EventStore {
  /** Every event with the keys of subjects, without those that were erased. */
  readCopies(after?: Position): AsyncIterable<RecordedEvent>
  /** Appends events of another log, which looked at them, as of when they were appended there (ISO 8601). */
  appendCopied(
    stream: string,
    events: readonly EncodedEvent[],
    options: { readonly expected: ExpectedRevision; readonly at: string },
  ): Promise<AppendResult>
}

/**
 * The log in EventStoreDB or KurrentDB (23.10 or later, which say when a subscription has caught up). Each store has a client and a
 * connection of its own; several in one process do not disturb each other. The connection is made by the first call and
 * again by the next call after it broke, so opening a store whose server is away succeeds, and `health()` says so. What
 * the server cannot promise, this store does not either: the
 * same id at another place of the log is not noticed.
 * @throws ServiceError `config_invalid` for a connection string that cannot be used.
 */
// oxlint-disable-next-line max-lines-per-function -- the methods of the port share one connection and its tail; none has more than thirty lines
export function openEventStoreDbStore(options: EventStoreDbOptions): EventStoreDbStore {
  const connection = createConnection(options.connectionString)
  const closing = new AbortController()
  const context: FollowContext & AppendContext = {
    connection,
    closing: closing.signal,
    answerTimeoutMs: options.answerTimeoutMs ?? LIMITS.appendTimeoutMs,
    newId: options.newId ?? randomUUID,
    random: options.random ?? Math.random,
    sleep: options.sleep ?? sleep,
    onSubscriptionBreak: options.onSubscriptionBreak ?? (() => undefined),
    onForeign: once(options.onForeignEvent ?? (() => undefined)),
  }
  const tail = createLogTail(context, closing.signal)
  const appending = new Set<Promise<unknown>>()
  const watch = createAppendWatch(options.elapsed ?? (() => performance.now()))
  let disposal: Promise<void> | undefined

  const requireOpen = (): void => {
    if (closing.signal.aborted)
      throw new ServiceError('store_unavailable', { message: 'the store is closed' })
  }
  const requireRoom = (): void => {
    if (appending.size < LIMITS.appendQueue) return
    throw new ServiceError('store_unavailable', {
      message: `${appending.size} appends wait for EventStoreDB; the limit is ${LIMITS.appendQueue}`,
    })
  }

  return {
    async append(stream, events, { expected }) {
      const append = validateAppend(stream, events, expected)
      requireOpen()
      requireRoom()
      const work = appendEvents(context, append)
      appending.add(work)
      try {
        return await watch.see(work)
      } finally {
        appending.delete(work)
      }
    },
    async *readCopies(after) {
      requireOpen()
      yield* readCopies(context, after)
    },
    async appendCopied(stream, events, { expected, at }) {
      requireOpen()
      return appendEvents(context, { stream, events, expected, at, bytes: bytesOf(events) })
    },
    async *read(stream, readOptions) {
      requireOpen()
      yield* readStoredStream(context, stream, readOptions)
    },
    async *readAll(readOptions) {
      requireOpen()
      yield* readWholeLog(context, readOptions)
    },
    subscribe(subscribeOptions) {
      requireOpen()
      return tail.subscribe(subscribeOptions)
    },
    async erase(stream) {
      requireErasable(stream)
      requireOpen()
      const work = eraseStream(context, stream)
      appending.add(work)
      try {
        await work
      } finally {
        appending.delete(work)
      }
    },
    async head() {
      requireOpen()
      return readHead(context)
    },
    async health() {
      const adapter = 'eventstoredb'
      if (closing.signal.aborted) return { ok: false, adapter, detail: 'closed' }
      return Promise.all([readHead(context), connection.version()]).then(
        ([head, version]) => {
          const late = watch.problem()
          return {
            ok: true,
            adapter,
            detail: `at ${head}`,
            head,
            version,
            ...(late !== undefined && { late }),
          }
        },
        (error: unknown) => ({
          ok: false,
          adapter,
          detail: reasonOf(error),
        }),
      )
    },
    async close() {
      closing.abort()
      disposal ??= Promise.allSettled(appending).then(() => connection.close())
      await disposal
    },
  }
}

/** Tells of the first one only. */
function once(tell: (place: StoredEvent) => void): (place: StoredEvent) => void {
  let isTold = false
  return (place) => {
    if (isTold) return
    isTold = true
    tell(place)
  }
}

/**
 * Tombstones a stream. Its bytes leave the server's disk with the next scavenge, which is the operator's to
 * schedule; until then nothing but a read of the whole log by other means than this service shows them.
 */
async function eraseStream(context: ReadContext, stream: string): Promise<void> {
  // The tombstone of a stream that never was would keep it from ever being.
  for await (const event of readStoredStream(context, stream, { limit: 1 }))
    return tombstone(context, event.stream)
}

async function tombstone({ connection, answerTimeoutMs }: ReadContext, stream: string): Promise<void> {
  const options = { ...connection.always, expectedRevision: 'any', deadline: answerTimeoutMs } as const
  const erasing = connection.current().client.tombstoneStream(stream, options)
  try {
    await withTimeout(erasing, answerTimeoutMs, () => noAnswerError(stream, answerTimeoutMs))
  } catch (error) {
    // Somebody else was as quick.
    if (isClientError(error, 'stream-deleted')) return
    throw isServiceError(error) ? error : appendError(error, stream)
  }
}

const noAnswerError = (stream: string, answerTimeoutMs: number): ServiceError =>
  new ServiceError('append_unknown', {
    message: `erasing ${stream}: EventStoreDB did not answer within ${answerTimeoutMs} ms`,
  })
