import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../contracts/errors.ts'
import { ERASED_SUBJECTS_FILE, rememberErased, subjectsIn } from '../accounts/index.ts'
import { type RestorePoint, restoreBackup } from '../platform/backup/restore-backup.ts'
import {
  grouped,
  KEY_FLAGS,
  keysAt,
  PLACE_FLAGS,
  placeAt,
  requireSameKey,
  requireVerified,
} from './backup.ts'
import { defineCommand } from './command.ts'
import { SOURCE_FLAGS } from './common-flags.ts'
import { createProgressLine } from './progress-line.ts'

export const restoreCommand = defineCommand({
  name: 'restore',
  summary: 'Makes the log of a backup anew in an empty folder, up to a position or an instant.',
  notes: [
    'Every event is read back and compared with the hash of the log before the file stands where a service would find it. In the folder of the market may stand what you keep apart from backups: sealing.key, log.keys, newest-checkpoint, erased-subjects; anything else is refused. A sealing key that is there, or set, is compared with the one that the log was begun under.',
    'Keys of accounts that were erased since are left out where --erased names their list: the file erased-subjects beside the log that was lost. See [backup.md](backup.md).',
  ],
  operands: ['address'],
  flags: {
    'to-position': {
      schema: z.coerce.number().int().positive().optional(),
      help: 'The last event that is restored. Default: all there is.',
      example: '120000',
    },
    'to-instant': {
      schema: z.iso
        .datetime({ offset: true })
        .transform((text) => new Date(text))
        .optional(),
      help: 'Restores what was appended then or before; ISO 8601. Default: all there is.',
      example: '2026-11-22T12:00:00Z',
    },
    erased: {
      schema: z.string().min(1).optional(),
      help: 'File with accounts that were erased, as erased-subjects lists them. Default: erased-subjects in the folder, where it is there.',
      example: '/var/lib/signal/erased-subjects',
    },
    'data-dir': SOURCE_FLAGS['data-dir'],
    market: SOURCE_FLAGS.market,
    ...KEY_FLAGS,
    ...PLACE_FLAGS,
  },
  examples: [
    'signal restore /mnt/backup/signal --data-dir ./restored',
    'signal restore s3://backups/signal --data-dir ./restored --to-instant 2026-11-22T12:00:00Z',
  ],
  async run(input) {
    const { operands, flags, stdout, stderr, signal, now } = input
    const [address = ''] = operands
    const { market } = flags
    const place = placeAt(address, input, flags['s3-credentials'])
    const directory = join(flags['data-dir'], market)
    const upTo = pointOf(flags)
    const progress = createProgressLine(stderr, now)
    const { keys, fingerprint } = keysAt(directory, flags)
    const result = await restoreBackup({
      place,
      keys,
      directory,
      upTo,
      erased: new Set(readErased(directory, flags.erased)),
      accept(read) {
        const { manifest } = read
        if (manifest.market === market) return requireVerified(read, place, input)
        throw new ServiceError('store_mismatch', {
          message: `the backup is of a ${manifest.market} market: say --market ${manifest.market}`,
        })
      },
      inspect: (first) => requireSameKey(first, fingerprint),
      signal,
      onProgress: ({ position, head, doing }) =>
        progress.show(`${grouped(position)} of ${grouped(head)} ${doing}`),
    })
    rememberErased(join(directory, ERASED_SUBJECTS_FILE), result.erased)
    progress.end(
      `${grouped(result.events)} events, up to position ${grouped(result.position)} of ${result.at}, are in ${directory}, verified; hash ${result.hash}`,
    )
    stderr.write(adviceOf(directory, fingerprint !== undefined))
    const { position, events, at, hash, erased } = result
    if (flags.json) stdout.write(`${JSON.stringify({ directory, position, events, at, hash, erased })}\n`)
    return undefined
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

function readErased(directory: string, named: string | undefined): readonly string[] {
  const beside = join(directory, ERASED_SUBJECTS_FILE)
  if (named === undefined && !existsSync(beside)) return []
  const file = named ?? beside
  try {
    return subjectsIn(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new ServiceError('config_invalid', {
      message: `--erased ${file} cannot be used: ${reasonOf(error)}`,
      cause: error,
    })
  }
}

function adviceOf(directory: string, hasKey: boolean): string {
  const advice = [
    ...(hasKey ? [] : [`Put the sealing key of the log into ${directory}/sealing.key, or set SEALING_KEY.`]),
    ...(existsSync(join(directory, 'newest-checkpoint'))
      ? []
      : [
          'Put newest-checkpoint back beside it where you have it: without it, the transparency log is not signed any more (docs/proof.md).',
        ]),
  ]
  return advice.map((line) => `${line}\n`).join('')
}
