import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { readBoundedFile, writeWholeFile } from '../../runtime/sqlite/whole-file.ts'

const noteSchema = z.strictObject({
  logId: z.string(),
  takenAt: z.iso.datetime(),
  position: z.int().nonnegative(),
})

/** When the newest backup of a log was complete, and its newest event. */
export type NewestBackup = z.infer<typeof noteSchema>

const MOST_BYTES = 1_000
const noteFile = (directory: string): string => join(directory, 'newest-backup')

/** Notes a backup beside the log, so that the doctor tells of its age. */
export const noteBackup = (directory: string, note: NewestBackup): void =>
  writeWholeFile(noteFile(directory), `${JSON.stringify(note)}\n`, { mode: 0o600, flush: true })

/** @returns undefined where none is noted of the log with this id, or the note cannot be read */
export function newestBackup(directory: string, logId: string | undefined): NewestBackup | undefined {
  try {
    if (!existsSync(noteFile(directory))) return undefined
    const note = noteSchema.parse(JSON.parse(readBoundedFile(noteFile(directory), MOST_BYTES).toString()))
    return note.logId === logId ? note : undefined
  } catch {
    return undefined
  }
}
