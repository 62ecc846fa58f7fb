import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { ServiceError } from '../../contracts/errors.ts'
import { sleep } from '../platform/async/sleep.ts'
import { checkBackup } from '../platform/backup/check-backup.ts'
import { hashOf, type Manifest } from '../platform/backup/manifest.ts'
import { openPlace } from '../platform/backup/open-place.ts'
import type { BackupPlace } from '../platform/backup/place.ts'
import { takeBackup } from '../platform/backup/take-backup.ts'
import { logFile } from '../platform/event-store/embedded/embedded-store.ts'
import { requireEnd } from '../platform/event-store/embedded/require-whole-log.ts'
import { openStoredRows } from '../platform/event-store/embedded/stored-rows.ts'
import { type CommandContext, defineCommand } from './command.ts'
import { SOURCE_FLAGS, switchFlag } from './common-flags.ts'
import { createProgressLine } from './progress-line.ts'

/** What an address of a backup needs besides itself. */
export const PLACE_FLAGS = {
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
    fetch,
  })

export const grouped = (count: number): string => count.toLocaleString('en')

/** What is told of a backup, for programs. */
export const summaryOf = (manifest: Manifest, place: BackupPlace) => ({
  place: place.description,
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
  summary: 'Copies what a backup does not have yet of the log, while the service runs.',
  notes: [
    'The address is a folder, or s3://bucket/prefix of whatever speaks S3 (AWS_ENDPOINT_URL_S3, AWS_REGION). The first time copies all; later ones add what came since. It holds the log up to the event that was the newest when the command began. Each part is read back and compared. One that was interrupted goes on with the next.',
    'The keys of what is personal are replaced each time: what was erased is then in no backup any more. The sealing key is never in it. See [backup.md](backup.md).',
  ],
  operands: ['address'],
  flags: {
    check: switchFlag('Adds nothing: reads the whole backup and compares it with its hashes.'),
    alone: switchFlag(
      'Vouches that no other backup to this address goes on, for a server of S3 that makes no conditional writes: the command says so where it needs this.',
    ),
    'data-dir': SOURCE_FLAGS['data-dir'],
    market: SOURCE_FLAGS.market,
    ...PLACE_FLAGS,
  },
  examples: [
    'signal backup /mnt/backup/signal',
    'signal backup s3://backups/signal --s3-credentials /etc/signal/s3-credentials',
    'signal backup /mnt/backup/signal --check',
  ],
  async run(input) {
    const { operands, flags, stdout, stderr, signal, now } = input
    const [address = ''] = operands
    const place = placeAt(address, input, flags['s3-credentials'], flags.alone)
    const progress = createProgressLine(stderr, now)
    const onProgress = ({ position, head }: { readonly position: number; readonly head: number }): void =>
      progress.show(`${grouped(position)} of ${grouped(head)} events`)
    if (flags.check) {
      const { manifest } = await checkBackup({ place, signal, onProgress })
      const summary = summaryOf(manifest, place)
      progress.end(
        `${place.description} is whole up to position ${grouped(manifest.head)}, of ${summary.at}; hash ${summary.hash}`,
      )
      if (flags.json) stdout.write(`${JSON.stringify(summary)}\n`)
      return undefined
    }
    const file = requireLog(join(flags['data-dir'], flags.market))
    const rows = openStoredRows(file)
    try {
      const { manifest, events, bytes, segments } = await takeBackup({ rows, place, now, signal, onProgress })
      progress.end(
        `${grouped(events)} events added (${grouped(bytes)} bytes in ${segments} segments); ${place.description} goes up to position ${grouped(manifest.head)}`,
      )
      if (flags.json)
        stdout.write(`${JSON.stringify({ ...summaryOf(manifest, place), added_events: events })}\n`)
    } finally {
      rows.close()
    }
    return undefined
  },
})

/** The log file of a folder. @throws ServiceError `config_invalid` where there is none */
export function requireLog(directory: string): string {
  const file = logFile(directory)
  if (existsSync(file)) {
    requireEnd(file)
    return file
  }
  throw new ServiceError('config_invalid', {
    message: `there is no log in ${directory}. Name the folder (--data-dir) and the market (--market); a log in EventStoreDB is backed up by that server's own means, or copied into a folder (signal store copy)`,
  })
}
