import type { DatabaseSync } from 'node:sqlite'

/** Commits the work of a function whole, or undoes it. */
export function transaction(db: DatabaseSync, work: () => void): void {
  db.exec('BEGIN IMMEDIATE')
  try {
    work()
    db.exec('COMMIT')
  } catch (error) {
    // A file that turned out damaged is closed within.
    if (db.isOpen && db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}
