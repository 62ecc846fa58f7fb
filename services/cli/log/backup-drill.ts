import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ServiceError } from '../../../contracts/errors.ts'
import { decodeEvent, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import type { BackupDrill } from '../../../contracts/proof-events.ts'
import { rowsInMemory } from '../../../projections/index.ts'
import { ERASED_SUBJECTS_FILE, erasedList } from '../../accounts/index.ts'
import { logFile } from '../../log/embedded/embedded-store.ts'
import { openStoredRows, type StoredRows } from '../../log/embedded/stored-rows.ts'
import type { ReadManifest } from '../../log-operations/backup/manifest.ts'
import { type RestoreOptions, restoreBackup } from '../../log-operations/backup/restore-backup.ts'
import { recordedOf } from '../../log-operations/backup/take-backup.ts'
import { createTreeReader, ENTRY_TYPES, type TreeRow, transparencyTree } from '../../proof/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import type { CommandContext } from '../kit/command.ts'
import { openOperatorService } from '../kit/operator-command.ts'

export interface DrillOptions
  extends Pick<RestoreOptions, 'place' | 'keys' | 'accept' | 'inspect' | 'onProgress'>,
    Pick<CommandContext, 'now' | 'signal'> {
  readonly dataDir: string
  readonly market: Settings['MARKET']
}

/**
 * Restores the newest backup into a scratch folder, compares it with the log that runs, and has the service record it.
 *
 * @throws ServiceError `config_invalid` where no service runs, `backup_damaged` where it is not the log that runs, and those of a restore
 */
export async function drillBackup({ dataDir, market, ...options }: DrillOptions): Promise<BackupDrill> {
  const { now, signal } = options
  const flags = { server: undefined, 'operator-token': undefined, 'data-dir': dataDir, market }
  const service = await openOperatorService({ flags, signal })
  const [directory, scratch] = [join(dataDir, market), join(dataDir, `${market}-drill`)]
  const lock = takeFileLock(`${scratch}.lock`, 'the drill')
  const began = now()
  try {
    // One that was killed leaves it.
    rmSync(scratch, { recursive: true, force: true })
    let read: ReadManifest | undefined
    const restored = await restoreBackup({
      ...options,
      directory: scratch,
      upTo: undefined,
      erased: new Set(erasedList(join(directory, ERASED_SUBJECTS_FILE)).read()),
      accept(found) {
        options.accept(found)
        read = found
      },
      remember: () => undefined,
    })
    if (read === undefined) throw new TypeError('a backup was restored that was not accepted')
    const { manifest } = read
    const drill: BackupDrill = {
      takenAt: manifest.takenAt,
      position: restored.position,
      events: restored.events,
      bytes: manifest.segments.reduce((sum, { bytes }) => sum + bytes, 0),
      ...compareLogs(logFile(scratch), logFile(directory), signal),
      seconds: Math.max(0, now() - began) / 1_000,
    }
    await service.post('/operator/backup-drills', drill, z.object({ recorded: z.literal(true) }))
    return drill
  } finally {
    rmSync(scratch, { recursive: true, force: true })
    lock.release()
  }
}

const PAGE_ROWS = 2_000

/** Hashes the transparency log of the restored log again, and looks for its end in the log that runs. */
function compareLogs(restoredFile: string, runningFile: string, signal: AbortSignal) {
  const restored = openStoredRows(restoredFile)
  const running = openStoredRows(runningFile)
  try {
    const head = restored.head()
    if (restored.at(head)?.[5] !== running.at(head)?.[5])
      throw differs(`its event at position ${head} is not the one of the log that runs`)
    const tree = signedTree(restored, head, signal)
    if (tree === undefined) throw differs('it holds no signed checkpoint to compare with; back up again')
    return { treeSize: tree.checkpoint.size, root: tree.checkpoint.root }
  } finally {
    restored.close()
    running.close()
  }
}

/**
 * The newest signed checkpoint of a log, whose root its entries have; undefined where none was signed yet.
 *
 * @throws ServiceError `backup_damaged`
 */
export function signedTree(rows: StoredRows, head: number, signal: AbortSignal) {
  const types: ReadonlySet<string> = new Set(ENTRY_TYPES)
  const tree = rowsInMemory<TreeRow>()
  let newest: Extract<ServiceEvent, { type: 'CheckpointSigned' }> | undefined
  for (let position = 0; position < head; ) {
    signal.throwIfAborted()
    const page = rows.page(position, head, PAGE_ROWS)
    for (const row of page) {
      if (types.has(row[3])) transparencyTree.fold(tree, recordedOf(row))
      const event = row[3] === 'CheckpointSigned' ? decodeEvent(recordedOf(row)) : undefined
      if (event?.type === 'CheckpointSigned') newest = event
    }
    position = page.at(-1)?.[0] ?? head
  }
  if (newest === undefined) return undefined
  const { data: checkpoint } = newest
  const reader = createTreeReader((key) => tree.get(key))
  const rootAt = (size: number): string => reader.root(size).toString('base64')
  if (rootAt(checkpoint.size) !== checkpoint.root)
    throw differs(`the root of its transparency log at ${checkpoint.size} is not the one that was signed`)
  return { checkpoint, rootAt }
}

export const differs = (why: string): ServiceError =>
  new ServiceError('backup_damaged', { message: `the backup was restored, and ${why}` })
