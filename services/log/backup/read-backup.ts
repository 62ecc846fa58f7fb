import { join } from 'node:path'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { readBoundedFile, writeWholeFile } from '../../runtime/sqlite/whole-file.ts'
import { rowsOf, type StoredRow } from '../embedded/stored-rows.ts'
import { damaged, MANIFEST_NAME, type Manifest, parseManifest, unpackSegment } from './manifest.ts'
import type { BackupStorage } from './storage.ts'

/** A backup that is read or written. */
export interface BackupAccess {
  readonly storage: BackupStorage
  /** It signs the manifest. */
  readonly key: Uint8Array
  readonly signal: AbortSignal
}

export interface BackupProgress {
  readonly position: number
  readonly head: number
}

/** @throws ServiceError `backup_damaged` if there is none; those of {@link parseManifest} */
export async function readManifest({ storage, key }: Omit<BackupAccess, 'signal'>): Promise<Manifest> {
  const stored = await storage.get(MANIFEST_NAME)
  if (stored !== undefined) return parseManifest(stored.body.toString('utf8'), key)
  throw new ServiceError('backup_damaged', {
    message: `${storage.description} holds no backup: ${MANIFEST_NAME} is not there`,
    nextStep: 'Check the address; `signal backup` makes a backup there.',
  })
}

/** @throws ServiceError `backup_damaged` if it is missing, or not what the manifest says */
export async function readSegment(
  storage: BackupStorage,
  entry: { readonly name: string; readonly first?: number; readonly events: number; readonly sha256: string },
): Promise<StoredRow[]> {
  const stored = await storage.get(entry.name)
  if (stored === undefined) throw damaged(entry, 'it is missing')
  const rows = rowsOf(unpackSegment(stored.body, entry))
  if (rows.length === entry.events) return rows
  throw damaged(entry, `it holds ${rows.length} events, not ${entry.events}`)
}

/**
 * Reads a whole backup: every file is there, and is what was written. @throws ServiceError `backup_damaged`,
 * `backup_unreachable`, `store_mismatch` if it was signed with another key
 */
export async function checkBackup(
  { storage, key, signal }: BackupAccess,
  onProgress: (progress: BackupProgress) => void,
): Promise<Manifest> {
  const manifest = await readManifest({ storage, key })
  const { head, segments, keys } = manifest
  for (const entry of [...segments, ...keys.map((one) => ({ ...one, last: head }))]) {
    signal.throwIfAborted()
    await readSegment(storage, entry)
    onProgress({ position: entry.last, head })
  }
  return manifest
}

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
    const note = noteSchema.parse(JSON.parse(readBoundedFile(noteFile(directory), MOST_BYTES).toString()))
    return note.logId === logId ? note : undefined
  } catch {
    return undefined
  }
}
