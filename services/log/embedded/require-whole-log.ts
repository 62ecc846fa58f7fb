import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { type NewestEvent, readNewest } from './newest-position.ts'
import { isDamage } from './row-sum.ts'
import { WAITS_FOR_OTHERS } from './schema.ts'
import { refusalOf } from './sqlite-refusal.ts'

/** A loss that the operator accepted. */
export interface LostEnd {
  /** The newest position that is left. */
  readonly endsAt: number
  /** The newest event that had been durable, where it was noted. */
  readonly noted: NewestEvent | undefined
  readonly damage: string
}

/** Files that the service makes only after it began a log beside them. */
const MADE_BESIDE_A_LOG = [
  'newest-position',
  'newest-checkpoint',
  'newest-backup',
  'projections.db',
  'events.db-wal',
]

/**
 * Refuses a folder whose log is gone or lost its end, before SQLite begins anew or drops what follows damage without a
 * word. Changes nothing. @returns what was lost, where `acceptedEnd` accepts it @throws ServiceError `store_mismatch`,
 * `log_end_lost`
 */
export function requireWholeLog(file: string, acceptedEnd?: number): LostEnd | undefined {
  requireNoneLost(file)
  if (isMissing(file)) return undefined
  return requireEnd(file, acceptedEnd)
}

const isMissing = (file: string): boolean => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0

/** Refuses a folder in which a log was begun and is no more. @throws ServiceError `store_mismatch` */
export function requireNoneLost(file: string): void {
  const directory = dirname(file)
  const left = MADE_BESIDE_A_LOG.filter((name) => existsSync(join(directory, name)))
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
export function requireEnd(file: string, acceptedEnd?: number): LostEnd | undefined {
  const noted = readNewest(dirname(file))
  if (noted === undefined) return undefined
  const end = lookAtEnd(file, noted, acceptedEnd !== undefined)
  if (end.isWhole) return undefined
  const damage = `position ${noted.position} was durable, and its event ${noted.id} is not there`
  if (end.fault === undefined && end.at > 0 && acceptedEnd === end.at)
    return { endsAt: end.at, noted, damage }
  const state = end.fault ?? `what is left ends at position ${end.at}`
  throw new ServiceError('log_end_lost', {
    message: `the log ${file} lost its end: ${damage}; ${state}. Nothing was changed`,
    nextStep:
      end.fault !== undefined || end.at === 0
        ? 'Keep a copy of the folder, and restore a backup into an empty one (docs/backup.md).'
        : `Keep a copy of the folder. Restore a backup into an empty one (docs/backup.md) where it goes further than position ${end.at}; else start once with --accept-lost-end ${end.at}, which goes on without what is lost and records that in the log.`,
  })
}

/** Over a connection that only reads, which leaves the write-ahead log as it is. */
function lookAtEnd(file: string, noted: NewestEvent | undefined, isChecked: boolean) {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { readOnly: true })
    db.exec(WAITS_FOR_OTHERS)
    const { at } = db.prepare('SELECT max(position) AS at FROM event').get() as { at: number | null }
    const there = noted && db.prepare('SELECT id FROM event WHERE position = ?').get(noted.position)
    return { at: at ?? 0, isWhole: there?.['id'] === noted?.id, fault: isChecked ? faultIn(db) : undefined }
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
function faultIn(db: DatabaseSync): string | undefined {
  const check = db.prepare('PRAGMA integrity_check(1)').get() as { integrity_check: string }
  if (check.integrity_check !== 'ok') return `what is left is damaged: ${check.integrity_check}`
  const { events, newest } = db
    .prepare('SELECT count(*) AS events, max(position) AS newest FROM event')
    .get() as { events: number; newest: number | null }
  return events === (newest ?? 0) ? undefined : `what is left has ${events} events up to position ${newest}`
}
