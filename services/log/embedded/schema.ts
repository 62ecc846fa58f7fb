import type { DatabaseSync } from 'node:sqlite'
import { ServiceError } from '../../../contracts/errors.ts'

/** Written to `user_version`; a file of a later one is refused. */
const SCHEMA_VERSION = 1
/** The layout of a file of which events were archived: a release that does not know of archives would find them empty. */
const ARCHIVED_VERSION = 2

/**
 * TEXT throughout: ids as blobs and names by number make the file a sixth smaller and reading a fifth
 * slower. Version 7 ids keep the id index growing at its end, which halves what a commit writes.
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
  at       TEXT NOT NULL
) STRICT;
`
const INDEXES = `
CREATE UNIQUE INDEX IF NOT EXISTS event_by_stream ON event (stream, revision);
CREATE UNIQUE INDEX IF NOT EXISTS event_by_id ON event (id);
`

/**
 * Pages of the write-ahead log that are copied into the file together, 32 MiB. Appends to many streams change the same
 * pages of an index again and again, and each is copied once.
 */
const PAGES_PER_CHECKPOINT = 4_000

/**
 * Durable to the disk at every commit; the write-ahead log lets readers go on meanwhile. What is deleted or
 * moved within the file is written over with zeros: streams can be erased.
 */
const DURABLE = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;
  PRAGMA wal_autocheckpoint = ${PAGES_PER_CHECKPOINT};`

/**
 * Page size of new files. A commit of many streams writes a page of the index for each, and a page holds several events:
 * with pages of 4 KiB it takes a third more processor time and twice as many writes.
 */
const PAGE_BYTES = 8_192

/** How long a connection that writes waits for another one: beside the service, events are archived. */
const OTHERS_MS = 10_000
export const WAITS_FOR_OTHERS = `PRAGMA busy_timeout = ${OTHERS_MS};`

/**
 * The archived events, by file and by block of neighbours; see archive-log.ts. A file is named here before a row of the log
 * says nothing any more.
 */
const ARCHIVE_TABLES = `
CREATE TABLE IF NOT EXISTS archive_file (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE IF NOT EXISTS archive_block (
  first  INTEGER PRIMARY KEY,
  last   INTEGER NOT NULL,
  file   INTEGER NOT NULL,
  start  INTEGER NOT NULL,
  bytes  INTEGER NOT NULL,
  sha256 TEXT NOT NULL
) STRICT;
`

/**
 * Checksums of events, in a table of their own: an older log gets them without its pages being written anew, and a former
 * release goes on with the log. What changes a row drops its checksum, also in a former release; the scrub takes it anew.
 */
const SUMS = `
CREATE TABLE IF NOT EXISTS event_sum (position INTEGER PRIMARY KEY, sum INTEGER NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS event_changed AFTER UPDATE ON event
  BEGIN DELETE FROM event_sum WHERE position = old.position; END;
CREATE TRIGGER IF NOT EXISTS event_removed AFTER DELETE ON event
  BEGIN DELETE FROM event_sum WHERE position = old.position; END;
CREATE TABLE IF NOT EXISTS scrub (one INTEGER PRIMARY KEY, position INTEGER NOT NULL, ended_at INTEGER) STRICT;
`

/** @throws ServiceError `event_unreadable` for a file of a later release */
export function requireLayout(db: DatabaseSync): number {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version <= ARCHIVED_VERSION) return version
  throw new ServiceError('event_unreadable', {
    message: `the file of the log has layout ${version}, and this release reads layouts up to ${ARCHIVED_VERSION}`,
  })
}

/** Within a transaction. */
export function prepareArchive(db: DatabaseSync): void {
  db.exec(`${ARCHIVE_TABLES} PRAGMA user_version = ${ARCHIVED_VERSION}`)
}

/**
 * Prepares a connection that moves events into an archive beside the one that appends. Nothing would be lost with a commit
 * of it, and it waits for the disk all the same: what is in the write-ahead log after a commit says that the commit is on the disk.
 */
export function prepareArchiver(db: DatabaseSync): void {
  // Before anything else: the first look may have to wait for a log to be put in order after a process that was killed.
  db.exec(WAITS_FOR_OTHERS)
  requireLayout(db)
  db.exec(DURABLE)
}

/** Prepares a connection that writes: settings, then tables where the file is new. */
export function prepareWriter(db: DatabaseSync): void {
  db.exec(`PRAGMA page_size = ${PAGE_BYTES}`)
  db.exec(`${WAITS_FOR_OTHERS} ${DURABLE}`)
  const version = requireLayout(db)
  db.exec(
    `BEGIN IMMEDIATE; ${TABLE} ${INDEXES} ${SUMS} PRAGMA user_version = ${Math.max(version, SCHEMA_VERSION)}; COMMIT;`,
  )
  // What a killed process left in the log may be of a stream that it had erased.
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
}

/** Prepares a file that is written once, by nobody else, and put in its place when it is whole: nothing is durable yet. */
export function prepareBuild(db: DatabaseSync): void {
  db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF`)
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -200000')
  db.exec(TABLE)
}

/** Ends what {@link prepareBuild} began; sorting all at once takes a fraction of what it takes row by row. */
export function prepareIndexes(db: DatabaseSync): void {
  db.exec(`${INDEXES} PRAGMA user_version = ${SCHEMA_VERSION}`)
  db.exec('PRAGMA locking_mode = NORMAL')
  // The next statement gives the lock back, so that others can read it.
  db.prepare('SELECT 1 FROM event LIMIT 1').get()
}
