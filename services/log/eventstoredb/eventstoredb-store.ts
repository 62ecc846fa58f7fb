import { randomUUID } from 'node:crypto'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import type { EventStore, StoreHealth } from '../event-store.ts'
import { type EncodedAppend, requireErasable, validateAppend } from '../validate-append.ts'
import { type AppendContext, appendEvents, eraseStream } from './append-events.ts'
import { createConnection } from './connect.ts'
import { createLogTail, type FollowContext } from './log-tail.ts'
import { readCopies, readHead, readStoredStream, readWholeLog } from './read-events.ts'
import type { StoredEvent } from './recorded-event.ts'

export interface EventStoreDbOptions
  extends Partial<
    Pick<FollowContext, 'answerTimeoutMs' | 'random' | 'sleep' | 'onSubscriptionBreak' | 'onMismatch'>
  > {
  /** `esdb://name:password@host:2113?tls=true`. It is never printed. */
  readonly connectionString: string
  /** Called with the first event in the log that something else wrote: such events are left out. */
  readonly onForeignEvent?: (stored: StoredEvent) => void
}

/** The store, with what a copy of a whole log needs besides. */
export type EventStoreDbStore = ReturnType<typeof openEventStoreDbStore>

/** From this version on the server is named KurrentDB. */
const FIRST_KURRENTDB = 25

/**
 * The log in EventStoreDB or KurrentDB (23.10 or later, which say when a subscription has caught up). Each store has a client and a
 * connection of its own; several in one process do not disturb each other. The connection is made by the first call and
 * again by the next call after it broke, so opening a store whose server is away succeeds, and `health()` says so. What
 * the server cannot promise, this store does not either: the same id at another place of the log is not noticed.
 * @throws ServiceError `config_invalid` for a connection string that cannot be used.
 */
// oxlint-disable-next-line max-lines-per-function -- the methods of the port share one connection and its tail; none has more than thirty lines
export function openEventStoreDbStore(options: EventStoreDbOptions) {
  const connection = createConnection(options.connectionString)
  const closing = new AbortController()
  const nothing = (): void => undefined
  let hasForeign = false
  const context: FollowContext & AppendContext = {
    answerTimeoutMs: LIMITS.appendTimeoutMs,
    random: Math.random,
    sleep,
    onSubscriptionBreak: nothing,
    onMismatch: nothing,
    ...options,
    connection,
    closing: closing.signal,
    newId: randomUUID,
    onForeign(stored) {
      if (!hasForeign) options.onForeignEvent?.(stored)
      hasForeign = true
    },
  }
  const tail = createLogTail(context)
  const writing = new Set<Promise<unknown>>()

  /** @throws ServiceError once the store is closed, or another log answers */
  function requireOpen(): void {
    const mismatch = tail.mismatch()
    if (mismatch !== undefined) throw mismatch
    if (closing.signal.aborted)
      throw new ServiceError('store_unavailable', { message: 'the store is closed' })
  }
  /** Writes once the log is known to be the same as before. */
  async function write<Result>(work: () => Promise<Result>): Promise<Result> {
    requireOpen()
    if (writing.size >= LIMITS.appendQueue)
      throw new ServiceError('store_unavailable', {
        message: `${writing.size} appends wait for the server; the limit is ${LIMITS.appendQueue}`,
      })
    const written = tail.verify().then(work)
    writing.add(written)
    try {
      return await written
    } catch (error) {
      if (isServiceError(error, 'store_unavailable') || isServiceError(error, 'append_unknown'))
        tail.suspect()
      throw error
    } finally {
      writing.delete(written)
    }
  }
  async function health(): Promise<StoreHealth> {
    const adapter = 'eventstoredb'
    try {
      requireOpen()
      const asking = Promise.all([readHead(context), connection.version()])
      const silence = () => new Error(`no answer within ${context.answerTimeoutMs} ms`)
      const [head, version] = await withTimeout(asking, context.answerTimeoutMs, silence)
      const server = Number.parseInt(version ?? '', 10) >= FIRST_KURRENTDB ? 'KurrentDB' : 'EventStoreDB'
      return { ok: true, adapter, detail: `at ${head}`, head, version, server }
    } catch (error) {
      return { ok: false, adapter, detail: reasonOf(error) }
    }
  }

  const store: EventStore = {
    async append(stream, events, { expected }) {
      const append = validateAppend(stream, events, expected)
      return write(() => appendEvents(context, append))
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
      await write(() => eraseStream(context, stream))
    },
    async head() {
      requireOpen()
      return readHead(context)
    },
    health,
    async close() {
      closing.abort()
      await Promise.allSettled(writing)
      connection.close()
    },
  }
  return {
    ...store,
    /** Every event with the keys of subjects, without those that were erased. */
    async *readCopies() {
      requireOpen()
      yield* readCopies(context)
    },
    /** Appends events of another log, which validated them, as of when they were appended there (ISO 8601). */
    appendCopied: (append: EncodedAppend) => write(() => appendEvents(context, append)),
  }
}
