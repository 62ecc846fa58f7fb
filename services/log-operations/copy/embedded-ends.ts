import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isErasable } from '../../../contracts/erasable-streams.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { openCopyFile } from '../../log/embedded/copy-file.ts'
import { logFile } from '../../log/embedded/embedded-store.ts'
import { requireEnd } from '../../log/embedded/require-whole-log.ts'
import { eventOf, type StoredRow } from '../../log/embedded/stored-row.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import { type FileLock, takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import type { CopySource, CopyTarget } from './copy-log.ts'

const PAGE_ROWS = 500

/** Whether something of an event is left. */
const isKept = ([, stream, , , , , , data]: StoredRow): boolean => !isErasable(stream) || data.startsWith('{')

/** A log in a folder, beside the service that may run on it. */
export function openEmbeddedSource(directory: string): CopySource & { close(): void } {
  if (!existsSync(logFile(directory)))
    throw new ServiceError('config_invalid', { message: `there is no log in ${directory}` })
  requireEnd(logFile(directory))
  const rows = openStoredRows(logFile(directory))
  let lock: FileLock | undefined
  let given = 0
  return {
    description: directory,
    async *events() {
      // The holder of the lock is the only writer: once it is held, all events were read.
      lock ??= takeIfFree(directory)
      const head = rows.head()
      given = head
      for (let position = 0; position < head; ) {
        const page = rows.everything(position, head, PAGE_ROWS)
        for (const row of page) if (isKept(row)) yield eventOf(row)
        position = page.at(-1)?.[0] ?? head
      }
    },
    async at(position) {
      for (let at = Math.min(Number(position), rows.head()); at > 0; at--) {
        const row = rows.at(at)
        if (row !== undefined && isKept(row)) return { stream: row[1], revision: row[2] }
      }
      return undefined
    },
    isAtRest: async () => lock !== undefined && rows.head() === given,
    close() {
      rows.close()
      lock?.release()
    },
  }
}

function takeIfFree(directory: string): FileLock | undefined {
  try {
    return takeFileLock(join(directory, 'events.lock'), 'the event store')
  } catch (error) {
    if (isServiceError(error, 'store_locked')) return undefined
    throw error
  }
}

/** A log that is made in a folder; it stands in its place when it is whole. */
export function openEmbeddedTarget(directory: string): CopyTarget & { close(): void } {
  const copy = openCopyFile(logFile(directory))
  return {
    description: directory,
    begin: async () => undefined,
    async *events() {
      copy.flush()
      const rows = openStoredRows(copy.file)
      try {
        const head = rows.head()
        for (let position = 0; position < head; ) {
          const page = rows.everything(position, head, PAGE_ROWS)
          for (const row of page) yield eventOf(row)
          position = page.at(-1)?.[0] ?? head
        }
      } finally {
        rows.close()
      }
    },
    append: async (events) => copy.append(events),
    flush: async () => copy.flush(),
    async positionOf(stream, revision) {
      const found = copy.positionOf(stream, revision)
      return found === undefined ? undefined : String(found)
    },
    finish: async () => copy.finish(),
    close: () => copy.close(),
  }
}
