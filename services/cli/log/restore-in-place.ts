import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { logFile } from '../../log/embedded/embedded-store.ts'
import { readNewest } from '../../log/embedded/newest-position.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import type { BackupPlace } from '../../log-operations/backup/place.ts'
import { readManifest } from '../../log-operations/backup/restore-backup.ts'
import type { BackupKeys } from '../../log-operations/backup/signature.ts'
import { takeBackup } from '../../log-operations/backup/take-backup.ts'
import { keepNewestCheckpoint } from '../../proof/index.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { syncPath } from '../../runtime/sqlite/sync-path.ts'
import type { CommandContext } from '../kit/command.ts'
import { differs, signedTree } from './backup-drill.ts'

export interface InPlaceOptions extends Pick<CommandContext, 'now' | 'signal'> {
  readonly place: BackupPlace
  readonly keys: BackupKeys | undefined
  /** Folder of the market, with the log that is damaged. */
  readonly directory: string
}

/** Files of the log itself. What else lies beside it goes on with the restored one. */
const LOG_FILES = ['events.db', 'events.db-wal', 'events.db-shm', 'archive'] as const

/**
 * Puts the log of a backup in the place of one that is damaged, which is kept beside it. What the damaged one has newer
 * is added to the backup before; the restored one has to reach as far, and to have the same root. An end at any moment
 * leaves the damaged log where it was, or none: the next run goes on.
 *
 * @param restore restores into a scratch folder
 * @throws ServiceError `store_locked` while a service runs, `log_damaged` where the backup does not reach as far
 */
export async function restoreInPlace<Result>(
  options: InPlaceOptions,
  restore: (scratch: string) => Promise<Result>,
): Promise<{ readonly result: Result; readonly kept: string }> {
  const { directory, now } = options
  // Inside, so that it is on the same disk.
  const scratch = join(directory, 'restored')
  const lock = takeFileLock(join(directory, 'events.lock'), 'the event store')
  try {
    await addNewer(options)
    // One that was killed leaves it.
    rmSync(scratch, { recursive: true, force: true })
    const result = await restore(scratch)
    requireSameLog(options, scratch)
    const there = LOG_FILES.filter((name) => existsSync(join(directory, name)))
    const kept = join(directory, `damaged-${now()}`)
    if (there.length > 0) mkdirSync(kept, { mode: 0o700 })
    // The log goes first: without it nothing starts, and with it nothing of the new one is there.
    for (const name of there) renameSync(join(directory, name), join(kept, name))
    syncPath(directory)
    renameSync(logFile(scratch), logFile(directory))
    syncPath(directory)
    rmSync(scratch, { recursive: true })
    return { result, kept: there.length > 0 ? kept : keptBefore(directory) }
  } finally {
    lock.release()
  }
}

const keptBefore = (directory: string): string =>
  join(
    directory,
    readdirSync(directory)
      .filter((name) => name.startsWith('damaged-'))
      .at(-1) ?? '',
  )

/** Takes into the backup what only the damaged log has. */
async function addNewer({ place, keys, directory, now, signal }: InPlaceOptions): Promise<void> {
  if (keys === undefined || !existsSync(logFile(directory))) return
  try {
    const rows = openStoredRows(logFile(directory))
    try {
      await takeBackup({ rows, place, keys, now, signal, onProgress: () => undefined })
    } finally {
      rows.close()
    }
  } catch (error) {
    if (isServiceError(error) && error.code !== 'log_damaged') throw error
    const { manifest } = await readManifest(place, keys)
    const newest = readNewest(directory)?.position
    if (newest !== undefined && newest <= manifest.head) return
    throw new ServiceError('log_damaged', {
      message: `the log is damaged after position ${manifest.head}, where the backup ends; ${newest === undefined ? 'how far it went is not noted' : `it went up to ${newest}`}. Nothing was changed`,
      nextStep:
        'Restore the backup into an empty folder (without --in-place), with the files of this one beside it, and start there: what came later is lost.',
      cause: error,
    })
  }
}

/** @throws ServiceError `backup_damaged` where it ends earlier, or has another root */
function requireSameLog({ directory, signal }: InPlaceOptions, scratch: string): void {
  const rows = openStoredRows(logFile(scratch))
  try {
    const newest = readNewest(directory)
    if (newest !== undefined && rows.at(newest.position)?.[5] !== newest.id)
      throw differs(`event ${newest.id} at position ${newest.position}, which was durable, is not in it`)
    const tree = signedTree(rows, rows.head(), signal)
    const checkpoint = keepNewestCheckpoint(join(directory, 'newest-checkpoint')).read()
    if (checkpoint === undefined || checkpoint.origin !== tree?.checkpoint.origin) return
    if (tree.rootAt(checkpoint.size) !== checkpoint.root.toString('base64'))
      throw differs(`its root at ${checkpoint.size} is not the one of the newest checkpoint`)
  } finally {
    rows.close()
  }
}
