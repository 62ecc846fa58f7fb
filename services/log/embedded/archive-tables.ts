import type { DatabaseSync } from 'node:sqlite'

/** Whether something of a log was archived. */
export const hasArchive = (db: DatabaseSync): boolean =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'archive_block'").get() !== undefined

/** Files of an archive that a log names. */
export const archiveFiles = (db: DatabaseSync): string[] => {
  if (!hasArchive(db)) return []
  const rows = db.prepare('SELECT name FROM archive_file ORDER BY id').all() as unknown as { name: string }[]
  return rows.map(({ name }) => name)
}
