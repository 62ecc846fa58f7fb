import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent } from '../../../contracts/event.ts'
import { LogEndLost } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import type { Position } from '../../../contracts/position.ts'
import { STORE_LOSSES_STREAM } from '../../../contracts/streams.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { createWakeSignal } from '../../runtime/async/wake-signal.ts'
import { type FileLock, takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivate, makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import type { AppendResult, EventStore, ExpectedRevision, StoreHealth } from '../event-store.ts'
import { followLog } from '../follow-log.ts'
import { type EncodedAppend, requireErasable, validateAppend } from '../validate-append.ts'
import { AppendQueue } from './append-queue.ts'
import { keepWriterRunning } from './keep-writer-running.ts'
import { LogReader } from './log-reader.ts'
import { type LostEnd, requireWholeLog } from './require-whole-log.ts'
import { requireLayoutOf } from './schema.ts'
import { startWriter, type Writer } from './writer.ts'

export interface EmbeddedStoreOptions extends Pick<Clock, 'now'> {
  /** Folder of the store; created when missing. */
  readonly directory: string
  /** The end that the operator accepts of a log that lost events, and an id for the event that records it. */
  readonly acceptLostEnd?: { readonly position: number; readonly id: string } | undefined
  /** How the writer is started; tests put a faulty one in between. */
  readonly writer?: typeof startWriter
}

/** The database file of a store. */
export const logFile = (directory: string): string => join(directory, 'events.db')

/**
 * The log in one SQLite file, for one process: durable to the disk before any append is answered, with group commit in a
 * writer thread. Nothing else needs to be installed. @throws ServiceError `store_locked`, `store_unavailable`;
 * `log_end_lost`, `store_mismatch` where the log is not whole, or gone
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EventStore> {
  const { directory, now, acceptLostEnd, writer: start = startWriter } = options
  makePrivateFolder(directory)
  const file = logFile(directory)
  requireLayoutOf(file)
  const lock = takeFileLock(join(directory, 'events.lock'), 'the event store')
  try {
    const lost = requireWholeLog(file, acceptLostEnd?.position)
    makePrivate(file)
    const writer = await keepWriterRunning(() => start({ file }))
    const store = storeOver(new EmbeddedLog(file, writer, now, lock))
    if (lost !== undefined && acceptLostEnd !== undefined) await recordLoss(store, lost, acceptLostEnd.id)
    return store
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Appends the first event after what is left: readers of the log see that it is not whole. */
async function recordLoss(store: EventStore, { endsAt, noted, damage }: LostEnd, id: string): Promise<void> {
  const data = { endsAt, notedPosition: noted?.position ?? null, damage }
  const event = newEvent(LogEndLost, { id, data, meta: { correlationId: id, actor: 'operator' } })
  try {
    let expected: ExpectedRevision = 'no-stream'
    for await (const { revision } of store.read(STORE_LOSSES_STREAM, { direction: 'backwards', limit: 1 }))
      expected = revision
    await store.append(STORE_LOSSES_STREAM, [event], { expected })
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The open file: its reader, its writer, and what is under way. */
class EmbeddedLog {
  readonly appended = createWakeSignal()
  readonly closing = new AbortController()
  readonly #writer: Writer
  readonly #lock: FileLock
  readonly #reader: LogReader
  readonly #queue: AppendQueue
  readonly #erasing = new Set<Promise<void>>()
  #closed: Promise<void> | undefined
  #lastFailure: unknown

  constructor(file: string, writer: Writer, now: () => number, lock: FileLock) {
    this.#writer = writer
    this.#lock = lock
    this.#reader = new LogReader(file)
    this.#queue = new AppendQueue(writer, now, {
      keep: (committed) => this.#reader.keep(committed),
      wake: () => this.appended.notify(),
    })
  }

  /** @throws ServiceError `store_unavailable` once it is closed */
  get reader(): LogReader {
    if (!this.closing.signal.aborted) return this.#reader
    throw new ServiceError('store_unavailable', { message: 'the store is closed' })
  }

  async append(append: EncodedAppend, events: readonly NewEvent[]): Promise<AppendResult> {
    void this.reader
    try {
      const result = await this.#queue.push(append, events)
      this.#lastFailure = undefined
      return result
    } catch (error) {
      if (isStoreFailure(error)) this.#lastFailure = error
      throw error
    }
  }

  async erase(stream: string): Promise<void> {
    const work = this.#writer.erase(stream)
    this.#erasing.add(work)
    try {
      await work
    } finally {
      this.#erasing.delete(work)
    }
  }

  async health(): Promise<StoreHealth> {
    const adapter = 'embedded'
    if (this.closing.signal.aborted) return { ok: false, adapter, detail: 'closed' }
    const failure = this.#lastFailure instanceof Error ? this.#lastFailure.message : undefined
    const detail =
      failure ?? `${this.#reader.head()} is the newest position, ${this.#queue.length} appends waiting`
    const { late } = this.#writer
    return {
      ok: failure === undefined,
      adapter,
      detail,
      ...(late !== undefined && { late }),
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.closing.abort()
    await this.#queue.drain()
    await Promise.allSettled(this.#erasing)
    // The last connection to close folds the write-ahead log into the file; a reader cannot.
    this.#reader.close()
    await this.#writer.close()
    this.#lock.release()
  }
}

const storeOver = (log: EmbeddedLog): EventStore => ({
  isExclusive: true,
  append: async (stream, events, { expected }) =>
    log.append(validateAppend(stream, events, expected), events),
  read: (stream, options) => log.reader.read(stream, options),
  readAll: (options) => log.reader.readAll(options),
  subscribe({ after, filter, signal }) {
    const { reader, appended, closing } = log
    const pages = {
      readPage: (position: Position, limit: number) => reader.readPage(position, limit, filter),
      head: () => reader.kept(),
      appended,
    }
    const ending = AbortSignal.any([signal, closing.signal])
    return followLog(after === 'end' ? reader.head() : after, pages, ending)
  },
  async erase(stream) {
    requireErasable(stream)
    void log.reader
    await log.erase(stream)
  },
  head: async () => log.reader.head(),
  streams: (prefix) => log.reader.streams(prefix),
  health: () => log.health(),
  close: () => log.close(),
})

/** A failure of the store itself, as opposed to a refusal of what was asked. */
const isStoreFailure = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (error.code === 'store_full' ||
    error.code === 'log_damaged' ||
    error.code === 'store_unavailable' ||
    error.code === 'append_unknown')
