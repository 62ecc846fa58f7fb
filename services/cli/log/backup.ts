import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { STORE_IDENTITY_STREAM } from '../../../contracts/events/streams.ts'
import { ERASURE_LIST_FILE, openErasureList } from '../../accounts/index.ts'
import { hashOf, type Manifest } from '../../log/backup/manifest.ts'
import { type BackupProgress, checkBackup, noteBackup } from '../../log/backup/read-backup.ts'
import { restoreBackup } from '../../log/backup/restore-backup.ts'
import { openStorage } from '../../log/backup/s3-storage.ts'
import { recordedOf, takeBackup } from '../../log/backup/take-backup.ts'
import { logFile } from '../../log/embedded/embedded-store.ts'
import { requireEnd } from '../../log/embedded/log-end.ts'
import { openStoredRows, type StoredRow } from '../../log/embedded/stored-rows.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { backupKeyOf, keyFingerprintOf } from '../../runtime/secrets/market-keys.ts'
import { addWrappingKey, WRAPPING_KEYS_FILE } from '../../runtime/secrets/wrapping-keys.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import {
  type Command,
  type CommandInput,
  defineCommand,
  FOLDER_FLAGS,
  flag,
  flagsAgain,
  settingFlag,
  switchFlag,
} from '../kit/command.ts'
import { createProgressLine, grouped } from '../kit/output.ts'

/** Also for the keys, of which the newest signs backups. */
const BACKUP_FLAGS = {
  ...FOLDER_FLAGS,
  'sealing-key': settingFlag('SEALING_KEY'),
  'wrapping-keys': settingFlag('WRAPPING_KEYS'),
  json: switchFlag('Writes what was done to standard output, as JSON.'),
} as const

/** The folder, storage and keys of a command on a backup. @throws ServiceError `config_invalid`, `store_mismatch` */
function backupParts({ operands, flags, environment, now, signal }: CommandInput<typeof BACKUP_FLAGS>) {
  const directory = join(flags['data-dir'], flags.market)
  const { market: MARKET, 'sealing-key': SEALING_KEY, 'wrapping-keys': WRAPPING_KEYS } = flags
  const settings = { MARKET, SEALING_KEY, WRAPPING_KEYS }
  const pause = (milliseconds: number): Promise<void> => sleep(milliseconds, signal)
  const fingerprint = keyFingerprintOf(settings, directory)
  return {
    directory,
    storage: openStorage(operands[0] ?? '', { environment, now, sleep: pause }),
    key: backupKeyOf(settings, directory),
    /** @throws ServiceError `store_mismatch` for a log that was begun under another sealing key than the one at hand */
    requireSameKey: (first: StoredRow): void => {
      const event = decodeEvent(recordedOf(first))
      if (event.type !== 'LogBegun' || event.data.secretFingerprint === fingerprint) return
      throw new ServiceError('store_mismatch', {
        message: 'the log was begun under another sealing key than the one in this folder or in SEALING_KEY',
        nextStep: 'Put the key that the log was begun under in its place, and run the command again.',
      })
    },
  }
}

const backupCommand = defineCommand({
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
    const { flags, signal, now, stderr } = input
    const { directory, storage, key, requireSameKey } = backupParts(input)
    const { description: place } = storage
    const progress = createProgressLine(input)
    const onProgress = ({ position, head }: BackupProgress): void =>
      progress.show(`${grouped(position)} of ${grouped(head)} events`)
    if (flags.check) {
      const summary = summaryOf(await checkBackup({ storage, key, signal }, onProgress), place)
      const { position, at, hash } = summary
      const found = `${place} is whole up to position ${grouped(position)}, of ${at}, and signed; hash ${hash}`
      return progress.end(found, summary)
    }
    const file = logFile(directory)
    if (!existsSync(file))
      throw new ServiceError('config_invalid', {
        message: `there is no log in ${directory}. Name the folder (--data-dir) and the market (--market); a log in EventStoreDB is backed up by that server's own means`,
      })
    requireEnd(file)
    const rows = openStoredRows(file)
    try {
      const first = rows.find(STORE_IDENTITY_STREAM, 0)
      if (first !== undefined) requireSameKey(first)
      const taken = await takeBackup({ rows, storage, key, now, signal, onProgress })
      const { manifest, events, bytes, segments, unremoved } = taken
      try {
        noteBackup(directory, { logId: manifest.logId, takenAt: manifest.takenAt, position: manifest.head })
      } catch (error) {
        const why = `Warning: the backup is whole, but signal doctor will not see it: ${reasonOf(error)}`
        stderr.write(`${why}. Run the command as the user of the service.\n`)
      }
      if (unremoved !== undefined)
        stderr.write(`Warning: files of runs that were interrupted could not be removed: ${unremoved}\n`)
      progress.end(
        `${grouped(events)} events added (${grouped(bytes)} bytes in ${segments} segments); ${place} goes up to position ${grouped(manifest.head)}`,
        { ...summaryOf(manifest, place), added_events: events },
      )
    } finally {
      rows.close()
    }
  },
})

const summaryOf = (manifest: Manifest, place: string) => ({
  place,
  log_id: manifest.logId,
  market: manifest.market,
  position: manifest.head,
  at: manifest.segments.at(-1)?.lastAt ?? null,
  segments: manifest.segments.length,
  hash: hashOf(manifest),
  taken_at: manifest.takenAt,
})

const restoreCommand = defineCommand({
  name: 'restore',
  summary: 'Restores the log of a backup into an empty folder, up to a position.',
  notes: [
    'Every event is read back and compared with the hash of the log before the file gets the name under which a service opens it. The folder of the market may hold the files that you keep apart from backups: sealing.key, log.keys, newest-checkpoint, erased-subjects; any other file is refused. The sealing key has to be there, or in SEALING_KEY: it checks who wrote the backup.',
    'With --erased, the keys of accounts that were erased since are left out; their list is the file erased-subjects beside the lost log. What was revoked after the newest event that is restored holds again, until `signal keys revoke-older` ends it. See [backup.md](backup.md).',
  ],
  operands: ['address'],
  flags: {
    'to-position': flag(
      z.coerce.number().int().positive().optional(),
      'Position of the last event to restore. Default: all.',
      '120000',
    ),
    erased: flag(
      z.string().min(1).optional(),
      'File with accounts that were erased, as erased-subjects lists them. Default: erased-subjects in the folder, if there is one.',
      '/var/lib/signal/erased-subjects',
    ),
    ...BACKUP_FLAGS,
  },
  examples: [
    'signal restore /mnt/backup/signal --data-dir ./restored',
    'signal restore s3://backups/signal --data-dir ./restored --to-position 120000',
  ],
  async run(input) {
    const { flags, texts, stderr, signal } = input
    const { directory, storage, key, requireSameKey } = backupParts(input)
    const progress = createProgressLine(input)
    const listBesideLog = join(directory, ERASURE_LIST_FILE)
    const erasures = readErasures(flags.erased ?? listBesideLog, flags.erased !== undefined)
    const { position, events, at, hash, erased } = await restoreBackup({
      storage,
      key,
      directory,
      upTo: flags['to-position'],
      erased: new Set(erasures),
      accept({ market }) {
        if (market === flags.market) return
        const message = `the backup is of a ${market} market: say --market ${market}`
        throw new ServiceError('store_mismatch', { message })
      },
      inspect: requireSameKey,
      remember: (streams) => openErasureList(listBesideLog).add(streams),
      signal,
      onProgress: (done) => progress.show(`${grouped(done.position)} of ${grouped(done.head)} ${done.doing}`),
    })
    progress.end(
      `${grouped(events)} events, up to position ${grouped(position)} of ${at}, are in ${directory}, verified; hash ${hash}`,
      { directory, position, events, at, hash, erased },
    )
    const instant = isoTime(Date.parse(at) + 1)
    stderr.write(
      `Keys that were revoked and sessions that ended after ${at} hold again. Once the service runs, end everything that is older: signal keys revoke-older --issued-before ${instant}${flagsAgain(texts)}\n`,
    )
    if (!existsSync(join(directory, 'newest-checkpoint')))
      stderr.write(
        'Put newest-checkpoint back beside it if you have it: without it, the transparency log is not signed any more (docs/proof.md).\n',
      )
  },
})

/** @param isNamed whether a flag names the file, which must be there then */
function readErasures(file: string, isNamed: boolean): readonly string[] {
  try {
    if (isNamed) readFileSync(file)
    return openErasureList(file).read()
  } catch (cause) {
    const message = `--erased ${file} cannot be used: ${reasonOf(cause)}`
    throw new ServiceError('config_invalid', { message, cause })
  }
}

const sealingKeyCommand = defineCommand({
  name: 'sealing-key replace',
  summary: 'Makes a new key, which seals personal data from the next start on.',
  notes: [
    'Stop the service first: beside it, this is refused (exit code 7). It adds a line to wrapping.keys in the folder of the market. Then start the service: it still opens data under the former keys, and in the background it seals the key of every account anew and erases the old copy. Callers do not wait for that.',
    'Keep the file with sealing.key, apart from the backups. sealing.key stays: names in the log are made with it. Several processes that share a log take their keys from WRAPPING_KEYS; see [backup.md](backup.md).',
  ],
  flags: {
    yes: switchFlag('Yes, make one.'),
    ...FOLDER_FLAGS,
  },
  examples: ['signal sealing-key replace --yes'],
  async run({ flags, stderr }) {
    const directory = join(flags['data-dir'], flags.market)
    const wrong = (message: string): ServiceError => new ServiceError('config_invalid', { message })
    if (!existsSync(directory))
      throw wrong(`there is no ${directory}: name the folder (--data-dir) and the market (--market)`)
    if (!flags.yes) throw wrong('this makes a new key: confirm with --yes')
    const file = join(directory, WRAPPING_KEYS_FILE)
    // A service that is ended and started by itself would use the key before it was copied to a safe place, and two commands at
    // once would each write a file without the key of the other.
    const lock = takeFileLock(join(directory, 'events.lock'), 'the event store')
    try {
      const { keys } = addWrappingKey(file, (bytes) => randomBytes(bytes))
      stderr.write(
        `key ${keys.length} is in ${file}. Copy the file to where sealing.key is kept, then start the service.\n`,
      )
    } finally {
      lock.release()
    }
  },
})

export const commands: readonly Command[] = [backupCommand, restoreCommand, sealingKeyCommand]
