import { join } from 'node:path'
import { type ErrorCode, isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { LogEndLost } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { STORE_LOSSES_STREAM } from '../../../contracts/events/streams.ts'
import type { Position } from '../../../contracts/infra/position.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { createWakeSignal } from '../../runtime/async/wake-signal.ts'
import { type FileLock, takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivate, makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import type { AppendResult, EventStore, ExpectedRevision } from '../event-store.ts'
import { followLog } from '../follow-log.ts'
import { requireErasable, validateAppend } from '../validate-append.ts'
import { AppendQueue } from './append-queue.ts'
import { type LostEnd, requireWholeLog } from './log-end.ts'
import { LogReader } from './log-reader.ts'
import { requireLayoutOf } from './schema.ts'
import { startWriter, type Writer } from './writer.ts'

export interface EmbeddedStoreOptions extends Pick<Clock, 'now'> {
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
 * `log_end_lost`, `store_mismatch` if the log is not whole, or gone
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
    const store = storeOver(file, await start({ file }), now, lock)
    if (lost !== undefined && acceptLostEnd !== undefined) await recordLoss(store, lost, acceptLostEnd.id)
    return store
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Appends the first event after what is left: readers of the log see that it is not whole. */
async function recordLoss(store: EventStore, { endsAt, noted, damage }: LostEnd, id: string): Promise<void> {
  const data = { endsAt, notedPosition: noted.position, damage }
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

/** Failures of the store itself, as opposed to refusals of what was asked. */
const STORE_FAILURES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'store_full',
  'log_damaged',
  'store_unavailable',
  'append_unknown',
])
/** A failure is reported for so long unless an append succeeds: a store that nobody is sent to would never heal. */
const REPORTED_MS = 30_000

function storeOver(file: string, writer: Writer, now: () => number, lock: FileLock): EventStore {
  const appended = createWakeSignal()
  const closing = new AbortController()
  const open = new LogReader(file)
  const queue = new AppendQueue(writer, now, {
    keep: (committed) => open.keep(committed),
    wake: () => appended.notify(),
  })
  let erasing: Promise<unknown> = Promise.resolve()
  let closed: Promise<void> | undefined
  /** The newest failure of the store itself, until an append succeeds. */
  let failure: { readonly reason: string; readonly at: number } | undefined

  /** @throws ServiceError `store_unavailable` once it is closed */
  function reader(): LogReader {
    if (!closing.signal.aborted) return open
    throw new ServiceError('store_unavailable', { message: 'the store is closed' })
  }
  /** An overload is none of the store's own failures. */
  async function watched(appending: Promise<AppendResult>): Promise<AppendResult> {
    try {
      const result = await appending
      failure = undefined
      return result
    } catch (error) {
      if (isServiceError(error) && STORE_FAILURES.has(error.code))
        failure = { reason: reasonOf(error), at: now() }
      throw error
    }
  }
  async function end(): Promise<void> {
    closing.abort()
    await queue.drain()
    await erasing
    // The last connection to close folds the write-ahead log into the file; a reader cannot.
    open.close()
    await writer.close()
    lock.release()
  }
  return {
    async append(stream, events, { expected }) {
      const append = validateAppend(stream, events, expected)
      reader()
      return watched(queue.push(append, events))
    },
    read: (stream, options) => reader().read(stream, options),
    readAll: (options) => reader().readAll(options),
    subscribe({ after, filter, signal }) {
      const pages = {
        readPage: (position: Position, limit: number) => reader().readPage(position, limit, filter),
        head: () => reader().kept(),
        appended,
      }
      const ending = AbortSignal.any([signal, closing.signal])
      return followLog(after === 'end' ? reader().head() : after, pages, ending)
    },
    async erase(stream) {
      requireErasable(stream)
      reader()
      const work = writer.erase(stream)
      erasing = Promise.allSettled([erasing, work])
      await work
    },
    head: async () => reader().head(),
    streams: (prefix) => reader().streams(prefix),
    async health() {
      if (closing.signal.aborted) return { ok: false, adapter: 'embedded', detail: 'closed' }
      if (failure !== undefined && Math.abs(now() - failure.at) < REPORTED_MS)
        return { ok: false, adapter: 'embedded', detail: failure.reason }
      const detail = `${open.head()} is the newest position, ${queue.length} appends waiting`
      return { ok: true, adapter: 'embedded', detail, late: writer.late() }
    },
    close: () => (closed ??= end()),
  }
}
