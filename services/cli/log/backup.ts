import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/streams.ts'
import { backupKeysOf, keyFingerprintOf, requireKeyOfLog } from '../../composition/adapters/open-platform.ts'
import { logFile } from '../../log/embedded/embedded-store.ts'
import { requireEnd } from '../../log/embedded/require-whole-log.ts'
import { openStoredRows, type StoredRow } from '../../log/embedded/stored-rows.ts'
import { checkBackup } from '../../log-operations/backup/check-backup.ts'
import { hashOf, type ReadManifest } from '../../log-operations/backup/manifest.ts'
import { noteBackup } from '../../log-operations/backup/newest-backup.ts'
import { openPlace } from '../../log-operations/backup/open-place.ts'
import type { BackupPlace } from '../../log-operations/backup/place.ts'
import type { Authenticity } from '../../log-operations/backup/signature.ts'
import { recordedOf, takeBackup } from '../../log-operations/backup/take-backup.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import { type CommandContext, defineCommand } from '../kit/command.ts'
import { FOLDER_FLAGS, settingFlag, switchFlag } from '../kit/common-flags.ts'
import { createProgressLine, grouped } from '../kit/progress-line.ts'

/** Also for the keys that sign backups, and for taking a backup that they do not vouch for. */
export const BACKUP_FLAGS = {
  ...FOLDER_FLAGS,
  'sealing-key': settingFlag('SEALING_KEY'),
  'wrapping-keys': settingFlag('WRAPPING_KEYS'),
  unverified: switchFlag(
    'Accepts a backup without a signature, as former releases made them, or whose key is not here. Anybody who can write to its address may have changed it.',
  ),
  's3-credentials': {
    schema: z.string().min(1).optional(),
    help: 'File with the credentials for an s3:// address, in profiles (AWS_PROFILE, else default). Default: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, else AWS_SHARED_CREDENTIALS_FILE.',
    example: '/etc/signal/s3-credentials',
  },
  json: switchFlag('Writes what was done to standard output, as JSON.'),
} as const

/** @throws ServiceError `config_invalid` */
export const placeAt = (
  address: string,
  { environment, now, signal }: CommandContext,
  credentialsFile: string | undefined,
  isAlone = false,
): BackupPlace =>
  openPlace(address, {
    environment,
    credentialsFile,
    isAlone,
    holder: `${hostname()} ${process.pid} ${randomUUID()}`,
    now,
    sleep: (milliseconds) => sleep(milliseconds, signal),
  })

/** @throws ServiceError `config_invalid` for keys that cannot be read */
export const keysAt = (
  directory: string,
  flags: {
    readonly 'sealing-key'?: string | undefined
    readonly 'wrapping-keys'?: string | undefined
    readonly market: Settings['MARKET']
  },
) => {
  const settings = {
    SEALING_KEY: flags['sealing-key'],
    WRAPPING_KEYS: flags['wrapping-keys'],
    MARKET: flags.market,
  }
  requireKeyOfLog(settings, directory)
  return { keys: backupKeysOf(settings, directory), fingerprint: keyFingerprintOf(settings, directory) }
}

/** @throws ServiceError `store_mismatch` where the log was begun under another sealing key than the one at hand */
export function requireSameKey(first: StoredRow, fingerprint: string | undefined): void {
  const event = decodeEvent(recordedOf(first))
  if (event.type !== 'LogBegun' || fingerprint === undefined) return
  if (event.data.secretFingerprint === fingerprint) return
  throw new ServiceError('store_mismatch', {
    message: 'the log was begun under another sealing key than the one in this folder or in SEALING_KEY',
    nextStep: 'Put the key that the log was begun under in its place, and run the command again.',
  })
}

const DOUBTS: Readonly<Record<Exclude<Authenticity, 'authentic'>, string>> = {
  former_key:
    'was signed with a key that has been replaced: anybody who has that key may have written it. The next backup signs it with the newest one',
  unsigned:
    'has no signature: a former release made it, or somebody who can write to its place took the signature away. The next backup compares it with the log and signs it',
  unchecked: 'was not checked for who wrote it: the sealing key is not here',
}

/**
 * Says who may have written a backup where that is not known.
 *
 * @throws ServiceError `backup_unverified` unless the operator takes it so
 */
export function requireVerified(
  { authenticity }: Pick<ReadManifest, 'authenticity'>,
  { place, directory }: { readonly place: BackupPlace; readonly directory: string },
  { flags, stderr }: { readonly flags: { readonly unverified: boolean } } & Pick<CommandContext, 'stderr'>,
): void {
  if (authenticity === 'authentic') return
  const mend = `. Put it at ${join(directory, 'sealing.key')}, or set SEALING_KEY`
  const doubt = `${place.description} ${DOUBTS[authenticity]}${authenticity === 'unchecked' ? mend : ''}`
  if (authenticity !== 'former_key' && !flags.unverified)
    throw new ServiceError('backup_unverified', { message: doubt })
  stderr.write(`Warning: ${doubt}.\n`)
}

export const summaryOf = ({ manifest, authenticity }: ReadManifest, place: BackupPlace) => ({
  place: place.description,
  log_id: manifest.logId,
  market: manifest.market,
  position: manifest.head,
  at: manifest.segments.at(-1)?.lastAt ?? null,
  segments: manifest.segments.length,
  hash: hashOf(manifest),
  taken_at: manifest.takenAt,
  authenticity,
})

export const backupCommand = defineCommand({
  name: 'backup',
  summary: 'Adds the events to a backup that it does not have yet, while the service runs.',
  notes: [
    'The address is a folder, or s3://bucket/prefix of a server that speaks S3 (AWS_ENDPOINT_URL_S3, AWS_REGION). The first backup copies the whole log; later ones add newer events, up to the newest one when the command began. Each part is read back and compared. The next run continues one that was interrupted.',
    'The keys of personal data are replaced each time, so that no backup holds the key of an erased account. A key derived from the sealing key signs it; the sealing key is never in it. See [backup.md](backup.md).',
  ],
  operands: ['address'],
  flags: {
    check: switchFlag(
      'Adds nothing: reads the whole backup and compares it with its hashes and its signature.',
    ),
    alone: switchFlag(
      'States that no other backup to this address runs. Needed for an S3 server without conditional writes; the command says so.',
    ),
    ...BACKUP_FLAGS,
  },
  examples: [
    'signal backup /mnt/backup/signal',
    'signal backup s3://backups/signal --s3-credentials /etc/signal/s3-credentials',
    'signal backup /mnt/backup/signal --check',
  ],
  async run(input) {
    const { operands, flags, signal, now } = input
    const [address = ''] = operands
    const place = placeAt(address, input, flags['s3-credentials'], flags.alone)
    const progress = createProgressLine(input)
    const onProgress = ({ position, head }: { readonly position: number; readonly head: number }): void =>
      progress.show(`${grouped(position)} of ${grouped(head)} events`)
    const directory = join(flags['data-dir'], flags.market)
    if (flags.check) {
      const { keys } = keysAt(directory, flags)
      const read = await checkBackup({ place, keys, signal, onProgress })
      const summary = summaryOf(read, place)
      const signed = read.authenticity === 'authentic' ? ', and signed' : ''
      progress.end(
        `${place.description} is whole up to position ${grouped(summary.position)}, of ${summary.at}${signed}; hash ${summary.hash}`,
        summary,
      )
      requireVerified(read, { place, directory }, input)
      return
    }
    const file = requireLog(directory)
    const { keys, fingerprint } = keysAt(directory, flags)
    if (keys === undefined) throw new TypeError('a log without its key was let in')
    const rows = openStoredRows(file)
    try {
      const first = rows.find(STORE_IDENTITY_STREAM, 0)
      if (first !== undefined) requireSameKey(first, fingerprint)
      const { manifest, events, bytes, segments } = await takeBackup({
        rows,
        place,
        keys,
        now,
        signal,
        onProgress,
      })
      noteTaken(directory, manifest, input)
      progress.end(
        `${grouped(events)} events added (${grouped(bytes)} bytes in ${segments} segments); ${place.description} goes up to position ${grouped(manifest.head)}`,
        { ...summaryOf({ manifest, authenticity: 'authentic' }, place), added_events: events },
      )
    } finally {
      rows.close()
    }
  },
})

/** A backup that cannot be noted beside the log is as good as any; `signal doctor` does not see it. */
function noteTaken(
  directory: string,
  { logId, takenAt, head }: ReadManifest['manifest'],
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
export function requireLog(directory: string): string {
  const file = logFile(directory)
  if (existsSync(file)) {
    requireEnd(file)
    return file
  }
  throw new ServiceError('config_invalid', {
    message: `there is no log in ${directory}. Name the folder (--data-dir) and the market (--market); a log in EventStoreDB is backed up by that server's own means`,
  })
}
