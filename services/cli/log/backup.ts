import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/streams.ts'
import { hashOf, type Manifest } from '../../log/backup/manifest.ts'
import { noteBackup } from '../../log/backup/newest-backup.ts'
import { openStorage } from '../../log/backup/open-storage.ts'
import { checkBackup } from '../../log/backup/read-backup.ts'
import type { BackupStorage } from '../../log/backup/storage.ts'
import { recordedOf, takeBackup } from '../../log/backup/take-backup.ts'
import { logFile } from '../../log/embedded/embedded-store.ts'
import { requireEnd } from '../../log/embedded/log-end.ts'
import type { StoredRow } from '../../log/embedded/stored-row.ts'
import { openStoredRows } from '../../log/embedded/stored-rows.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { backupKeyOf, keyFingerprintOf } from '../../runtime/secrets/market-keys.ts'
import { type CommandContext, type CommandInput, defineCommand } from '../kit/command.ts'
import { FOLDER_FLAGS, settingFlag, switchFlag } from '../kit/common-flags.ts'
import { createProgressLine, grouped } from '../kit/progress-line.ts'

/** Also for the keys, of which the newest signs backups. */
export const BACKUP_FLAGS = {
  ...FOLDER_FLAGS,
  'sealing-key': settingFlag('SEALING_KEY'),
  'wrapping-keys': settingFlag('WRAPPING_KEYS'),
  json: switchFlag('Writes what was done to standard output, as JSON.'),
} as const

/**
 * The folder, storage and keys of a command on a backup.
 *
 * @throws ServiceError `config_invalid` for an address, credentials or keys that cannot be used; `store_mismatch` for a
 *   log whose key is not here
 */
export function backupParts(input: CommandInput<typeof BACKUP_FLAGS>) {
  const { operands, flags, environment, now, signal } = input
  const directory = join(flags['data-dir'], flags.market)
  const settings = {
    SEALING_KEY: flags['sealing-key'],
    WRAPPING_KEYS: flags['wrapping-keys'],
    MARKET: flags.market,
  }
  const pause = (milliseconds: number): Promise<void> => sleep(milliseconds, signal)
  return {
    directory,
    storage: openStorage(operands[0] ?? '', { environment, now, sleep: pause }),
    key: backupKeyOf(settings, directory),
    fingerprint: keyFingerprintOf(settings, directory),
  }
}

/** @throws ServiceError `store_mismatch` where the log was begun under another sealing key than the one at hand */
export function requireSameKey(first: StoredRow, fingerprint: string | undefined): void {
  const event = decodeEvent(recordedOf(first))
  if (event.type !== 'LogBegun' || event.data.secretFingerprint === fingerprint) return
  throw new ServiceError('store_mismatch', {
    message: 'the log was begun under another sealing key than the one in this folder or in SEALING_KEY',
    nextStep: 'Put the key that the log was begun under in its place, and run the command again.',
  })
}

const summaryOf = (manifest: Manifest, storage: BackupStorage) => ({
  place: storage.description,
  log_id: manifest.logId,
  market: manifest.market,
  position: manifest.head,
  at: manifest.segments.at(-1)?.lastAt ?? null,
  segments: manifest.segments.length,
  hash: hashOf(manifest),
  taken_at: manifest.takenAt,
})

export const backupCommand = defineCommand({
  name: 'backup',
  summary: 'Adds the events to a backup that it does not have yet, while the service runs.',
  notes: [
    'The address is a folder, or s3://bucket/prefix of a server that speaks S3 (AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY). The first backup copies the whole log; later ones add newer events, up to the newest one when the command began. Each part is read back and compared. The next run continues one that was interrupted.',
    'The keys of personal data are replaced each time, so that no backup holds the key of an erased account. A key derived from the newest sealing key signs it; the sealing key is never in it. See [backup.md](backup.md).',
  ],
  operands: ['address'],
  flags: {
    check: switchFlag(
      'Adds nothing: reads the whole backup and compares it with its hashes and its signature.',
    ),
    ...BACKUP_FLAGS,
  },
  examples: [
    'signal backup /mnt/backup/signal',
    'signal backup s3://backups/signal',
    'signal backup /mnt/backup/signal --check',
  ],
  async run(input) {
    const { flags, signal, now } = input
    const { directory, storage, key, fingerprint } = backupParts(input)
    const progress = createProgressLine(input)
    const onProgress = ({ position, head }: { readonly position: number; readonly head: number }): void =>
      progress.show(`${grouped(position)} of ${grouped(head)} events`)
    if (flags.check) {
      const summary = summaryOf(await checkBackup({ storage, key, signal, onProgress }), storage)
      const { position, at, hash } = summary
      progress.end(
        `${storage.description} is whole up to position ${grouped(position)}, of ${at}, and signed; hash ${hash}`,
        summary,
      )
      return
    }
    const rows = openStoredRows(requireLog(directory))
    try {
      const first = rows.find(STORE_IDENTITY_STREAM, 0)
      if (first !== undefined) requireSameKey(first, fingerprint)
      const taken = await takeBackup({ rows, storage, key, now, signal, onProgress })
      const { manifest, events, bytes, segments, unremoved } = taken
      noteTaken(directory, manifest, input)
      if (unremoved !== undefined)
        input.stderr.write(
          `Warning: files of runs that were interrupted could not be removed: ${unremoved}\n`,
        )
      progress.end(
        `${grouped(events)} events added (${grouped(bytes)} bytes in ${segments} segments); ${storage.description} goes up to position ${grouped(manifest.head)}`,
        { ...summaryOf(manifest, storage), added_events: events },
      )
    } finally {
      rows.close()
    }
  },
})

/** A backup that cannot be noted beside the log is as good as any; `signal doctor` does not see it. */
function noteTaken(
  directory: string,
  { logId, takenAt, head }: Manifest,
  { stderr }: Pick<CommandContext, 'stderr'>,
): void {
  try {
    noteBackup(directory, { logId, takenAt, position: head })
  } catch (error) {
    stderr.write(
      `Warning: the backup is whole, but signal doctor will not see it: ${reasonOf(error)}. Run the command as the user of the service.\n`,
    )
  }
}

/** The log file of a folder. @throws ServiceError `config_invalid` where there is none */
function requireLog(directory: string): string {
  const file = logFile(directory)
  if (existsSync(file)) {
    requireEnd(file)
    return file
  }
  throw new ServiceError('config_invalid', {
    message: `there is no log in ${directory}. Name the folder (--data-dir) and the market (--market); a log in EventStoreDB is backed up by that server's own means`,
  })
}
