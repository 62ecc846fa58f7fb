import { closeSync, existsSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { writeWholeFile } from '../../runtime/sqlite/whole-file.ts'
import { WAITS_FOR_OTHERS } from './schema.ts'
import { isDamage, refusalOf } from './sqlite-errors.ts'

/** The newest event that was durable, as it stands beside the log. */
export interface NewestEvent {
  readonly position: number
  readonly id: string
}

/** A loss that the operator accepted: the newest position that is left, and the newest event that had been durable. */
export type LostEnd = NonNullable<ReturnType<typeof requireEnd>>

const newestFile = (directory: string): string => join(directory, 'newest-position')

/** The same length always, so that it is written over where it lies: no end in between leaves half of it. */
const LINE = /^ *(\d{1,16}) ([0-9a-f-]{36})\n$/
const lineOf = ({ position, id }: NewestEvent): string => `${String(position).padStart(16)} ${id}\n`

/** @throws ServiceError `log_end_lost` for a file that says nothing */
function readNewest(directory: string): NewestEvent | undefined {
  const file = newestFile(directory)
  if (!existsSync(file)) return undefined
  let text = ''
  // The service may be writing it: what is read twice alike is one note.
  for (let again = readFileSync(file, 'utf8'); again !== text; again = readFileSync(file, 'utf8'))
    text = again
  const [, position, id] = LINE.exec(text) ?? []
  if (position !== undefined && id !== undefined) return { position: Number(position), id }
  throw new ServiceError('log_end_lost', {
    message: `${file} does not hold the position and the id of an event: whether the log lost its end cannot be told`,
    nextStep: `Compare the log with a backup (docs/backup.md). If it is whole, delete ${file}: the next start makes it anew.`,
  })
}

/**
 * Notes the newest durable event after each commit, so the note is never ahead of the log. Only the first note waits for
 * the disk: after a kill it is exact, after a power cut it may be seconds old.
 */
export function keepNewest(directory: string) {
  const file = newestFile(directory)
  let handle: number | undefined
  return {
    /** @returns why it could not be noted; nothing is lost with it */
    note(newest: NewestEvent): string | undefined {
      try {
        if (handle !== undefined) writeSync(handle, lineOf(newest), 0)
        else {
          writeWholeFile(file, lineOf(newest), { mode: 0o600, flush: true })
          handle = openSync(file, 'r+')
        }
        return undefined
      } catch (error) {
        return `${file} cannot be written, so that the next start may not see whether the log lost its end: ${reasonOf(error)}`
      }
    },
    close() {
      if (handle === undefined) return
      fsyncSync(handle)
      closeSync(handle)
    },
  }
}

/** Files that the service makes only after it began a log beside them. */
const MADE_AFTER_A_LOG = [
  'newest-position',
  'newest-checkpoint',
  'newest-backup',
  'projections.db',
  'events.db-wal',
]

/**
 * Refuses a folder whose log is gone or lost its end, before SQLite begins anew or drops what follows damage without a
 * word. Changes nothing. @returns what was lost, if `acceptedEnd` accepts it @throws ServiceError `store_mismatch`,
 * `log_end_lost`
 */
export function requireWholeLog(file: string, acceptedEnd?: number): LostEnd | undefined {
  requireNoneLost(file)
  return isMissing(file) ? undefined : requireEnd(file, acceptedEnd)
}

const isMissing = (file: string): boolean => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0

/** Refuses a folder in which a log was begun and is no more. @throws ServiceError `store_mismatch` */
export function requireNoneLost(file: string): void {
  const directory = dirname(file)
  const left = MADE_AFTER_A_LOG.filter((name) => existsSync(join(directory, name)))
  if (left.length === 0 || !isMissing(file)) return
  throw new ServiceError('store_mismatch', {
    message: `${directory} holds ${left.join(', ')}, and the log that they belong to is missing: ${file} is ${existsSync(file) ? 'empty' : 'not there'}`,
    nextStep:
      'Put events.db and events.db-wal back, or restore a backup into an empty folder (docs/backup.md). A new log begins in another folder (DATA_DIR).',
  })
}

/**
 * Compares where a log ends with what was noted beside it, also while the service writes to it. @throws ServiceError
 * `log_end_lost`
 */
export function requireEnd(file: string, acceptedEnd?: number) {
  const noted = readNewest(dirname(file))
  if (noted === undefined) return undefined
  const end = readEnd(file, noted, acceptedEnd !== undefined)
  if (end.isWhole) return undefined
  const damage = `position ${noted.position} was durable, and its event ${noted.id} is not there`
  const canBeAccepted = end.fault === undefined && end.at > 0
  if (canBeAccepted && acceptedEnd === end.at) return { endsAt: end.at, noted, damage }
  throw new ServiceError('log_end_lost', {
    message: `the log ${file} lost its end: ${damage}; ${end.fault ?? `what is left ends at position ${end.at}`}. Nothing was changed`,
    nextStep: canBeAccepted
      ? `Keep a copy of the folder. Restore a backup into an empty one (docs/backup.md) if it goes further than position ${end.at}; else start once with --accept-lost-end ${end.at}, which goes on without what is lost and records that in the log.`
      : 'Keep a copy of the folder, and restore a backup into an empty one (docs/backup.md).',
  })
}

/** Over a connection that only reads, which leaves the write-ahead log as it is. */
function readEnd(file: string, noted: NewestEvent, isChecked: boolean) {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { readOnly: true })
    db.exec(WAITS_FOR_OTHERS)
    const at = Number(db.prepare('SELECT max(position) AS at FROM event').get()?.['at'] ?? 0)
    const there = db.prepare('SELECT id FROM event WHERE position = ?').get(noted.position)
    return { at, isWhole: there?.['id'] === noted.id, fault: isChecked ? faultIn(db, at) : undefined }
  } catch (error) {
    if (isDamage(error))
      return { at: 0, isWhole: false, fault: `what is left cannot be read: ${reasonOf(error)}` }
    const refusal = refusalOf(error, false)
    throw new ServiceError(refusal.code, { ...refusal, cause: error })
  } finally {
    db?.close()
  }
}

/** Checks what is left: pages of the file may be newer than the write-ahead log before the damage. */
function faultIn(db: DatabaseSync, newest: number): string | undefined {
  const found = db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']
  if (found !== 'ok') return `what is left is damaged: ${String(found)}`
  const events = db.prepare('SELECT count(*) AS events FROM event').get()?.['events']
  return events === newest ? undefined : `what is left has ${String(events)} events up to position ${newest}`
}
