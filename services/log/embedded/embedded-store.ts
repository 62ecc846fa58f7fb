import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors.ts'
import { LogEndLost } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { STORE_LOSSES_STREAM } from '../../../contracts/streams.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { createWakeSignal } from '../../runtime/async/wake-signal.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivate, makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { encodeAppend, requireErasable } from '../encode-append.ts'
import type { EventStore, StoreHealth } from '../event-store.ts'
import { followLog } from '../follow-log.ts'
import { createAppendQueue } from './append-queue.ts'
import { archiveHealth } from './check-archive.ts'
import { keepWriterRunning } from './keep-writer-running.ts'
import { openLogReader } from './log-reader.ts'
import { type LostEnd, requireWholeLog } from './require-whole-log.ts'
import { startWriter, type Writer, type WriterOptions } from './writer.ts'

export interface EmbeddedStoreOptions extends Pick<Clock, 'now'> {
  /** Folder of the store; created when missing. */
  readonly directory: string
  /** The end that the operator accepts of a log that lost events, and an id for the event that records it. */
  readonly acceptLostEnd?: { readonly position: number; readonly id: string } | undefined
  readonly maxPages?: number
  /** Appends that may wait for the writer. */
  readonly maxWaiting?: number
  /** How the writer is started; tests put a faulty one in between. */
  readonly writer?: (options: WriterOptions) => Promise<Writer>
}

/** The database file of a store. */
export const logFile = (directory: string): string => join(directory, 'events.db')

/**
 * The log in one SQLite file, for one process: durable to the disk before any append is answered, with
 * group commit in a writer thread. Nothing else needs to be installed.
 *
 * @throws ServiceError `store_locked` when another process has it open, `store_unavailable` when the file
 * cannot be opened; `log_end_lost`, `store_mismatch` where the log is not whole, or gone.
 * @example const store = await openEmbeddedStore({ directory: './data', now: Date.now })
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EventStore> {
  const { directory, now, maxPages, maxWaiting, acceptLostEnd } = options
  makePrivateFolder(directory)
  const file = logFile(directory)
  const lock = takeFileLock(join(directory, 'events.lock'), 'the event store')
  try {
    const lost = requireWholeLog(file, acceptLostEnd?.position)
    makePrivate(file)
    const start = options.writer ?? startWriter
    const writer = await keepWriterRunning(() =>
      start({ file, ...(maxPages === undefined ? {} : { maxPages }) }),
    )
    const store = assembleStore({
      file,
      now,
      writer,
      release: () => lock.release(),
      ...(maxWaiting && { maxWaiting }),
    })
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
    await store.append(STORE_LOSSES_STREAM, [event], { expected: 'any' })
  } catch (error) {
    await store.close()
    throw error
  }
}

function assembleStore(parts: {
  file: string
  now: () => number
  writer: Writer
  release: () => void
  maxWaiting?: number
}): EventStore {
  const reader = openLogReader(parts.file)
  const appended = createWakeSignal()
  const queue = createAppendQueue({ ...parts, onCommitted: () => appended.notify() })
  const closing = new AbortController()
  const erasing = new Set<Promise<void>>()
  let closed: Promise<void> | undefined
  let lastFailure: unknown

  const requireOpen = (): void => {
    if (closing.signal.aborted)
      throw new ServiceError('store_unavailable', { message: 'the store is closed' })
  }

  async function close(): Promise<void> {
    closing.abort()
    await queue.drain()
    await Promise.allSettled(erasing)
    // The last connection to close folds the write-ahead log into the file; a reader cannot.
    reader.close()
    await parts.writer.close()
    parts.release()
  }

  return {
    async append(stream, events, { expected }) {
      const append = encodeAppend(stream, events, expected)
      requireOpen()
      try {
        const result = await queue.push(append)
        lastFailure = undefined
        return result
      } catch (error) {
        if (isStoreFailure(error)) lastFailure = error
        throw error
      }
    },
    read(stream, readOptions = {}) {
      requireOpen()
      return reader.read(stream, readOptions)
    },
    readAll(readOptions = {}) {
      requireOpen()
      return reader.readAll(readOptions)
    },
    readPlaces(readOptions = {}) {
      requireOpen()
      return reader.readPlaces(readOptions)
    },
    subscribe({ after, filter, signal }) {
      requireOpen()
      const log = {
        readPage: (position: string, limit: number) => reader.readPage(position, limit, filter),
        head: () => reader.head(),
        appended,
      }
      return followLog(
        after === 'end' ? reader.head() : after,
        log,
        AbortSignal.any([signal, closing.signal]),
      )
    },
    async erase(stream) {
      requireErasable(stream)
      requireOpen()
      const work = parts.writer.erase(stream)
      erasing.add(work)
      try {
        await work
      } finally {
        erasing.delete(work)
      }
    },
    async head() {
      requireOpen()
      return reader.head()
    },
    async health(): Promise<StoreHealth> {
      const failure = closing.signal.aborted
        ? 'closed'
        : lastFailure instanceof Error
          ? lastFailure.message
          : undefined
      const detail = failure ?? `${reader.head()} is the newest position, ${queue.length} appends waiting`
      // What is closed has nothing to look at.
      const archive = closing.signal.aborted ? undefined : await archiveHealth(parts.file)
      const { late } = parts.writer
      return {
        ok: failure === undefined,
        adapter: 'embedded',
        detail,
        ...(late !== undefined && { late }),
        ...(archive && { archive }),
      }
    },
    close() {
      closed ??= close()
      return closed
    },
  }
}

/** A failure of the store itself, as opposed to a refusal of what was asked. */
const isStoreFailure = (error: unknown): boolean =>
  error instanceof ServiceError &&
  (error.code === 'store_full' || error.code === 'store_unavailable' || error.code === 'append_unknown')
