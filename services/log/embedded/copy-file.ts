import { existsSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { makePrivate, makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import { forgetNewest } from './newest-position.ts'
import { prepareWriter } from './schema.ts'
import { refusalOf } from './sqlite-refusal.ts'
import type { eventOf } from './stored-row.ts'

const ROWS_A_COMMIT = 2_000

/** @param target `events.db`; refused where it is there already */
export function openCopyFile(target: string) {
  if (existsSync(target)) {
    throw new ServiceError('store_mismatch', {
      message: `${target} is there already: a copy into it was finished, or it is another log`,
      nextStep: 'Copy into an empty folder (--to-dir).',
    })
  }
  makePrivateFolder(dirname(target))
  // Two processes that copy into one folder would write into the same file.
  const lock = takeFileLock(join(dirname(target), 'events.lock'), 'the event store')
  const file = `${target}.copying`
  makePrivate(file)
  const db = new DatabaseSync(file)
  prepareWriter(db)
  const insert = db.prepare(
    'INSERT INTO event (position, stream, revision, type, schema, id, at, data, meta) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const find = db.prepare('SELECT position FROM event WHERE stream = ? AND revision = ?')
  const last = db.prepare('SELECT max(position) AS position FROM event').get()
  let position = Number(last?.position ?? 0)
  let waiting = 0

  const attempt = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      const refusal = refusalOf(error, false)
      throw new ServiceError(refusal.code, refusal)
    }
  }
  const flush = (): void => {
    if (db.isTransaction) attempt(() => db.exec('COMMIT'))
    waiting = 0
  }
  return {
    file,
    /** Puts events behind those that are there; positions are given here. */
    append(events: readonly Omit<ReturnType<typeof eventOf>, 'position'>[]): void {
      attempt(() => {
        if (!db.isTransaction) db.exec('BEGIN IMMEDIATE')
        for (const { stream, revision, type, schema, id, at, data, meta } of events)
          insert.run(++position, stream, revision, type, schema, id, at, data, meta)
      })
      waiting += events.length
      if (waiting >= ROWS_A_COMMIT) flush()
    },
    /** Durable when it returns. */
    flush,
    positionOf(stream: string, revision: number): number | undefined {
      const found = find.get(stream, revision)
      return found === undefined ? undefined : Number(found.position)
    },
    finish() {
      flush()
      const { events } = db.prepare('SELECT count(*) AS events FROM event').get() as { events: number }
      assert(events === position, 'a copy has no hole in its positions', events)
      // What others may still have open of it would keep the write-ahead log; nobody has.
      db.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE')
      db.close()
      forgetNewest(dirname(target))
      renameSync(file, target)
      syncPath(dirname(target))
    },
    close() {
      if (db.isOpen) {
        flush()
        db.close()
      }
      lock.release()
    },
  }
}
