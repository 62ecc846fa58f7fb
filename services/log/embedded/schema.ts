import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { ServiceError } from '../../../contracts/errors/errors.ts'

/** Written to `user_version`; a file of another one is refused. Layouts 1 and 2 are of releases 0.1 and 0.2. */
const LAYOUT = 3

/**
 * TEXT throughout: ids as blobs and names by number make the file a sixth smaller and reading a fifth
 * slower. Version 7 ids keep the id index growing at its end, which halves what a commit writes. `sum` is the checksum of
 * the row, null where the event was erased.
 */
const TABLE = `
CREATE TABLE IF NOT EXISTS event (
  position INTEGER PRIMARY KEY,
  stream   TEXT NOT NULL,
  revision INTEGER NOT NULL,
  type     TEXT NOT NULL,
  schema   INTEGER NOT NULL,
  id       TEXT NOT NULL,
  data     TEXT NOT NULL,
  meta     TEXT NOT NULL,
  at       TEXT NOT NULL,
  sum      INTEGER
) STRICT;
`
const INDEXES = `
CREATE UNIQUE INDEX IF NOT EXISTS event_by_stream ON event (stream, revision);
CREATE UNIQUE INDEX IF NOT EXISTS event_by_id ON event (id);
PRAGMA user_version = ${LAYOUT};
`

export const INSERT_EVENT =
  'INSERT INTO event (position, stream, revision, type, schema, id, at, data, meta, sum) VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT), ?, ?)'

/**
 * Durable to the disk at every commit; the write-ahead log lets readers go on meanwhile. Its pages are copied into the
 * file 32 MiB at a time: appends to many streams change the same pages of an index again and again, and each is copied
 * once. What is deleted or moved within the file is written over with zeros: streams can be erased.
 */
const DURABLE =
  'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 4000;'

/**
 * Page size of new files. A commit of many streams writes a page of the index for each, and a page holds several events:
 * with pages of 4 KiB it takes a third more processor time and twice as many writes.
 */
const PAGES = 'PRAGMA page_size = 8192;'

/** A connection waits so long for another one that holds the file: a command may read it while the service runs. */
export const WAITS_FOR_OTHERS = 'PRAGMA busy_timeout = 10000;'

/** Offset of the layout in the header of a file of SQLite: 32 bits, the highest byte first. */
const LAYOUT_AT = 60

/** Checks a file without opening it as a database, which would change the files beside it. */
export function requireLayoutOf(file: string): void {
  if (!existsSync(file)) return
  const header = Buffer.alloc(4)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, header, 0, header.length, LAYOUT_AT)
  } finally {
    closeSync(handle)
  }
  requireKnown(header.readUInt32BE())
}

/** @throws ServiceError `store_mismatch` for a file of another layout; an empty file has none yet */
export function requireLayout(db: DatabaseSync): void {
  requireKnown((db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version)
}

function requireKnown(layout: number): void {
  if (layout === LAYOUT || layout === 0) return
  const isFormer = layout < LAYOUT
  throw new ServiceError('store_mismatch', {
    message: `the log in this folder is of ${isFormer ? 'release 0.2 or older' : 'a later release'} (layout ${layout}), and this release reads layout ${LAYOUT}; nothing was changed`,
    nextStep: isFormer
      ? 'Release 0.2 reads it. Start this release in a new folder (DATA_DIR).'
      : 'Start the release that wrote it, or use a new folder (DATA_DIR).',
  })
}

/** Prepares a connection that writes: settings, then tables in a new file. */
export function prepareWriter(db: DatabaseSync): void {
  requireLayout(db)
  db.exec(`${PAGES} ${WAITS_FOR_OTHERS} ${DURABLE}`)
  db.exec(`BEGIN IMMEDIATE; ${TABLE} ${INDEXES} COMMIT;`)
  // What a killed process left in the log may be of a stream that it had erased.
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** Prepares a file that is written once, by nobody else, and gets its name when it is whole: nothing is durable yet. */
export function prepareBuild(db: DatabaseSync): void {
  db.exec(`${PAGES} PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA cache_size = -200000; ${TABLE}`)
}

/** Ends what {@link prepareBuild} began; sorting all at once takes a fraction of what it takes row by row. */
export function prepareIndexes(db: DatabaseSync): void {
  db.exec(`${INDEXES} PRAGMA locking_mode = NORMAL`)
  // The next statement gives the lock back, so that others can read it.
  db.prepare('SELECT 1 FROM event LIMIT 1').get()
}
