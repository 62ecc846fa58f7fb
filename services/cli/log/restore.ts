import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { exactInstantParameter } from '../../../contracts/instant-parameter.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { ERASURE_LIST_FILE, openErasureList } from '../../accounts/index.ts'
import { type RestorePoint, restoreBackup } from '../../log-operations/backup/restore-backup.ts'
import { defineCommand } from '../kit/command.ts'
import { createProgressLine, grouped } from '../kit/progress-line.ts'
import { BACKUP_FLAGS, keysAt, placeAt, requireSameKey, requireVerified } from './backup.ts'

export const restoreCommand = defineCommand({
  name: 'restore',
  summary: 'Restores the log of a backup into an empty folder, up to a position or an instant.',
  notes: [
    'Every event is read back and compared with the hash of the log before the file gets the name under which a service opens it. The folder of the market may hold the files that you keep apart from backups: sealing.key, log.keys, newest-checkpoint, erased-subjects; any other file is refused. A sealing key in the folder, or in SEALING_KEY, is compared with the first key of the log.',
    'With --erased, the keys of accounts that were erased since are left out; their list is the file erased-subjects beside the lost log. What was revoked after the newest event that is restored holds again, until `signal keys revoke --issued-before` ends it. See [backup.md](backup.md).',
  ],
  operands: ['address'],
  flags: {
    'to-position': {
      schema: z.coerce.number().int().positive().optional(),
      help: 'Position of the last event to restore. Default: all.',
      example: '120000',
    },
    'to-instant': {
      schema: exactInstantParameter.transform((text) => new Date(text)).optional(),
      help: 'Restores events that were appended then or before; ISO 8601. Default: all.',
      example: '2026-11-22T12:00:00Z',
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
    'signal restore s3://backups/signal --data-dir ./restored --to-instant 2026-11-22T12:00:00Z',
  ],
  async run(input) {
    const { operands, flags, stderr, signal } = input
    const [address = ''] = operands
    const { market } = flags
    const place = placeAt(address, input, flags['s3-credentials'])
    const directory = join(flags['data-dir'], market)
    const upTo = pointOf(flags)
    const progress = createProgressLine(input)
    const listBesideLog = join(directory, ERASURE_LIST_FILE)
    const erasures = readErasures(flags.erased ?? listBesideLog, flags.erased !== undefined)
    const { keys, fingerprint } = keysAt(directory, flags)
    const {
      position,
      events,
      at: instant,
      hash,
      erased,
    } = await restoreBackup({
      place,
      keys,
      directory,
      upTo,
      erased: new Set(erasures),
      accept(read) {
        const { manifest } = read
        if (manifest.market === market) return requireVerified(read, { place, directory }, input)
        throw new ServiceError('store_mismatch', {
          message: `the backup is of a ${manifest.market} market: say --market ${manifest.market}`,
        })
      },
      inspect: (first) => requireSameKey(first, fingerprint),
      remember: (streams) => openErasureList(listBesideLog).add(streams),
      signal,
      onProgress: (at) => progress.show(`${grouped(at.position)} of ${grouped(at.head)} ${at.doing}`),
    })
    progress.end(
      `${grouped(events)} events, up to position ${grouped(position)} of ${instant}, are in ${directory}, verified; hash ${hash}`,
      { directory, position, events, at: instant, hash, erased },
    )
    stderr.write(adviceOf(directory, instant, fingerprint !== undefined))
  },
})

/** @throws ServiceError `config_invalid` where both are given */
function pointOf(flags: {
  readonly 'to-position'?: number | undefined
  readonly 'to-instant'?: Date | undefined
}): RestorePoint {
  const { 'to-position': position, 'to-instant': instant } = flags
  if (position !== undefined && instant !== undefined)
    throw new ServiceError('config_invalid', {
      message: '--to-position and --to-instant name two ends: give one of them',
    })
  if (position !== undefined) return { position }
  return instant && { instant }
}

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

function adviceOf(directory: string, at: string, hasKey: boolean): string {
  const advice = [
    `Keys that were revoked and sessions that ended after ${at} hold again. Once the service runs, end everything that is older: signal keys revoke --issued-before ${isoTime(Date.parse(at) + 1)}`,
    ...(hasKey ? [] : [`Put the sealing key of the log into ${directory}/sealing.key, or set SEALING_KEY.`]),
    ...(existsSync(join(directory, 'newest-checkpoint'))
      ? []
      : [
          'Put newest-checkpoint back beside it where you have it: without it, the transparency log is not signed any more (docs/proof.md).',
        ]),
  ]
  return advice.map((line) => `${line}\n`).join('')
}
