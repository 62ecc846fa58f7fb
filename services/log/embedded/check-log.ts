import { DatabaseSync } from 'node:sqlite'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { requireLayout, WAITS_FOR_OTHERS } from './schema.ts'
import { EVENTS, type SummedRow, sound } from './stored-rows.ts'

/** Faults that are named. */
const MOST_NAMED = 8

/**
 * Reads a whole log while its service may run: every checksum, every position, and SQLite's own check of its pages and
 * indexes. @returns the number of events @throws ServiceError `log_damaged`
 */
export function checkLog(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true })
  const faults: string[] = []
  const attempt = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      faults.push(reasonOf(error))
    }
  }
  let position = 0
  try {
    db.exec(WAITS_FOR_OTHERS)
    requireLayout(db)
    attempt(() => {
      const rows = db.prepare(`${EVENTS} ORDER BY position`)
      rows.setReturnArrays(true)
      for (const row of rows.iterate() as Iterable<unknown> as Iterable<SummedRow>) {
        if (row[0] !== position + 1) faults.push(`positions ${position + 1} to ${row[0] - 1} are missing`)
        position = row[0]
        attempt(() => void sound(row))
      }
    })
    attempt(() => {
      for (const { integrity_check: found } of db.prepare('PRAGMA integrity_check').all())
        if (found !== 'ok') faults.push(String(found))
    })
  } finally {
    db.close()
  }
  if (faults.length === 0) return position
  throw new ServiceError('log_damaged', {
    message: `the log ${file} is damaged: ${faults.length} faults, ${faults.slice(0, MOST_NAMED).join('; ')}`,
  })
}
