import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { ERASURE_LIST_FILE, openErasureList } from '../../accounts/index.ts'
import { restoreBackup } from '../../log/backup/restore-backup.ts'
import { defineCommand } from '../kit/command.ts'
import { createProgressLine, grouped } from '../kit/progress-line.ts'
import { BACKUP_FLAGS, backupParts, requireSameKey } from './backup.ts'

export const restoreCommand = defineCommand({
  name: 'restore',
  summary: 'Restores the log of a backup into an empty folder, up to a position.',
  notes: [
    'Every event is read back and compared with the hash of the log before the file gets the name under which a service opens it. The folder of the market may hold the files that you keep apart from backups: sealing.key, log.keys, newest-checkpoint, erased-subjects; any other file is refused. The sealing key has to be there, or in SEALING_KEY: it checks who wrote the backup.',
    'With --erased, the keys of accounts that were erased since are left out; their list is the file erased-subjects beside the lost log. What was revoked after the newest event that is restored holds again, until `signal keys revoke --issued-before` ends it. See [backup.md](backup.md).',
  ],
  operands: ['address'],
  flags: {
    'to-position': {
      schema: z.coerce.number().int().positive().optional(),
      help: 'Position of the last event to restore. Default: all.',
      example: '120000',
    },
    erased: {
      schema: z.string().min(1).optional(),
      help: 'File with accounts that were erased, as erased-subjects lists them. Default: erased-subjects in the folder, where it is there.',
      example: '/var/lib/signal/erased-subjects',
    },
    ...BACKUP_FLAGS,
  },
  examples: [
    'signal restore /mnt/backup/signal --data-dir ./restored',
    'signal restore s3://backups/signal --data-dir ./restored --to-position 120000',
  ],
  async run(input) {
    const { flags, stderr, signal } = input
    const { market } = flags
    const { directory, storage, key, fingerprint } = backupParts(input)
    const progress = createProgressLine(input)
    const listBesideLog = join(directory, ERASURE_LIST_FILE)
    const erasures = readErasures(flags.erased ?? listBesideLog, flags.erased !== undefined)
    const { position, events, at, hash, erased } = await restoreBackup({
      storage,
      key,
      directory,
      upTo: flags['to-position'],
      erased: new Set(erasures),
      accept(manifest) {
        if (manifest.market === market) return
        throw new ServiceError('store_mismatch', {
          message: `the backup is of a ${manifest.market} market: say --market ${manifest.market}`,
        })
      },
      inspect: (first) => requireSameKey(first, fingerprint),
      remember: (streams) => openErasureList(listBesideLog).add(streams),
      signal,
      onProgress: (done) => progress.show(`${grouped(done.position)} of ${grouped(done.head)} ${done.doing}`),
    })
    progress.end(
      `${grouped(events)} events, up to position ${grouped(position)} of ${at}, are in ${directory}, verified; hash ${hash}`,
      { directory, position, events, at, hash, erased },
    )
    stderr.write(adviceOf(directory, at))
  },
})

/** @param isNamed whether a flag names the file, which must be there then */
function readErasures(file: string, isNamed: boolean): readonly string[] {
  try {
    if (isNamed) readFileSync(file)
    return openErasureList(file).read()
  } catch (error) {
    throw new ServiceError('config_invalid', {
      message: `--erased ${file} cannot be used: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

function adviceOf(directory: string, at: string): string {
  const advice = [
    `Keys that were revoked and sessions that ended after ${at} hold again. Once the service runs, end everything that is older: signal keys revoke --issued-before ${isoTime(Date.parse(at) + 1)}`,
    ...(existsSync(join(directory, 'newest-checkpoint'))
      ? []
      : [
          'Put newest-checkpoint back beside it where you have it: without it, the transparency log is not signed any more (docs/proof.md).',
        ]),
  ]
  return advice.map((line) => `${line}\n`).join('')
}
