import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { makePrivate } from '../../runtime/sqlite/private-files.ts'
import { SQLITE, sqliteCode } from '../../runtime/sqlite/result-code.ts'

/**
 * Pages are copied into the file so many at a time: a table with keys in no order changes the same ones again and
 * again, and each is copied once.
 */
const PAGES_PER_CHECKPOINT = 4_000

/** Read models are rebuilt from the log, so losing their last commits with the power costs only time. */
const SETTINGS = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${PAGES_PER_CHECKPOINT};`

/** A file of another layout, or of another log, is made anew. */
const LAYOUT = 2
const SCHEMA = `PRAGMA user_version = ${LAYOUT};
  CREATE TABLE log (id TEXT NOT NULL) STRICT;
  CREATE TABLE newest (one INTEGER PRIMARY KEY, id TEXT NOT NULL, position TEXT NOT NULL) STRICT;
  CREATE TABLE model (
    name TEXT PRIMARY KEY, version INTEGER NOT NULL, position TEXT NOT NULL, is_whole INTEGER NOT NULL
  ) STRICT;`

/** Result codes of SQLite for a damaged file, and for one that is no database. */
const DAMAGED: readonly number[] = [SQLITE.corrupt, SQLITE.notADatabase]

export const isDamage = (error: unknown): boolean => DAMAGED.includes(sqliteCode(error) ?? 0)

/**
 * Opens the file of read models. All in it follows from the log: one that is damaged, or of another log, is emptied.
 *
 * @throws ServiceError `store_unavailable` where it cannot be opened
 */
export function openReadModelFile(file: string, logId: string): DatabaseSync {
  makePrivate(file)
  let db = new DatabaseSync(file)
  try {
    if (isOfLog(db, logId)) return db
    db.close()
    db = emptyReadModelFile(file, logId)
    return db
  } catch (error) {
    if (db.isOpen) db.close()
    if (isDamage(error)) return emptyReadModelFile(file, logId)
    throw new ServiceError('store_unavailable', {
      message: `the read models ${file} cannot be opened: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

/** Makes the file anew; nothing may have it open. */
export function emptyReadModelFile(file: string, logId: string): DatabaseSync {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
  makePrivate(file)
  const db = new DatabaseSync(file)
  db.exec(SETTINGS)
  db.exec(SCHEMA)
  db.prepare('INSERT INTO log (id) VALUES (?)').run(logId)
  return db
}

function isOfLog(db: DatabaseSync, logId: string): boolean {
  db.exec(SETTINGS)
  const { user_version: layout } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  return layout === LAYOUT && db.prepare('SELECT id FROM log').get()?.['id'] === logId
}
