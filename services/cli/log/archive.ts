import { existsSync, lstatSync, realpathSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { exactInstantParameter } from '../../../contracts/instant-parameter.ts'
import { archiveLog, shrinkLog } from '../../log/embedded/archive-log.ts'
import { archiveFolder } from '../../log/embedded/archived-contents.ts'
import { checkArchive } from '../../log/embedded/check-archive.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { makePrivateFolder } from '../../runtime/sqlite/private-files.ts'
import { type CommandInput, defineCommand } from '../kit/command.ts'
import { FOLDER_FLAGS, settingFlag, switchFlag } from '../kit/common-flags.ts'
import { createProgressLine, grouped } from '../kit/progress-line.ts'
import { requireLog } from './backup.ts'

const DAY_MS = 86_400_000

const FLAGS = {
  'older-than': {
    schema: z
      .string()
      .regex(/^[1-9]\d{0,4}d$/, 'must be a number of days, as in 90d')
      .transform((text) => Number(text.slice(0, -1)) * DAY_MS)
      .optional(),
    help: 'Moves events that are at least so many days old.',
    example: '90d',
  },
  before: {
    schema: exactInstantParameter.transform((text) => new Date(text)).optional(),
    help: 'Moves events that were recorded before this instant; ISO 8601. In place of --older-than.',
    example: '2026-09-01T00:00:00Z',
  },
  check: switchFlag('Moves nothing: reads the whole archive and compares it with the log.'),
  shrink: switchFlag(
    'Moves nothing: returns the free space in the file of the log to the disk. Only while no service runs on it; meanwhile it needs as much free disk as the file will have.',
  ),
  ...FOLDER_FLAGS,
  'eventstore-url': { ...settingFlag('EVENTSTORE_URL'), schema: z.string().min(1).optional() },
  json: switchFlag('Writes what was done to standard output, as JSON.'),
} as const

export const archiveCommand = defineCommand({
  name: 'archive',
  summary:
    'Moves the data of old verdicts and outcomes into compressed files beside the log, while the service runs.',
  notes: [
    'The folder may lie on another disk: `archive` in the folder of the market is made a link to it. Readers lose nothing: replays, read models, proofs, audits and backups stay the same, byte for byte, as long as the folder is there. Without it, reads of archived events are refused with the name of the missing file, and new events are recorded as before. Each file is durable, read back and compared before the log drops its copy. The next run continues one that was interrupted.',
    'The file of the log does not become smaller until --shrink: new events are written into the space of the old ones. Releases from before archives do not open a log with an archive. See [archiving.md](archiving.md).',
  ],
  operands: ['folder'],
  flags: FLAGS,
  examples: [
    'signal archive /mnt/archive/signal --older-than 90d',
    'signal archive /mnt/archive/signal --check',
    'signal archive /mnt/archive/signal --shrink',
  ],
  async run(input) {
    const { operands, flags } = input
    if (flags['eventstore-url'] !== undefined) throw ofAnotherStore()
    const directory = join(flags['data-dir'], flags.market)
    const file = requireLog(directory)
    const folder = resolve(operands[0] ?? '')
    const wanted = [flags['older-than'], flags.before, flags.check || undefined, flags.shrink || undefined]
    if (wanted.filter((one) => one !== undefined).length !== 1)
      throw new ServiceError('config_invalid', {
        message: 'give one of --older-than, --before, --check and --shrink',
      })
    if (!flags.shrink) linkFolder(directory, folder, flags.check)
    if (flags.shrink) shrink(input, file)
    else await (flags.check ? check : move)(input, file, folder)
  },
})

type Input = CommandInput<typeof FLAGS>

async function move(input: Input, file: string, folder: string): Promise<void> {
  const { flags, signal, now } = input
  const progress = createProgressLine(input)
  const result = await archiveLog({
    file,
    before: flags.before ?? new Date(now() - (flags['older-than'] ?? 0)),
    signal,
    sleep: (milliseconds) => sleep(milliseconds, signal),
    elapsed: () => performance.now(),
    onProgress: ({ position, upTo }) => progress.show(`${grouped(position)} of ${grouped(upTo)} events`),
  })
  const { events, files, bytes, freeBytes } = result
  progress.end(
    `${grouped(events)} events moved to ${grouped(files)} files in ${folder} (${grouped(bytes)} bytes); the file of the log has ${grouped(freeBytes)} bytes for what comes`,
    { folder, events, files, bytes, free_bytes: freeBytes },
  )
}

async function check(input: Input, file: string, folder: string): Promise<void> {
  const { signal } = input
  const progress = createProgressLine(input)
  const onProgress = (position: number): void => progress.show(`whole up to position ${grouped(position)}`)
  const { files, events, unused } = await checkArchive(file, { signal, onProgress })
  const rest = unused.length === 0 ? '' : `; not used by the log, and may go: ${unused.join(', ')}`
  progress.end(`${folder} is whole: ${grouped(events)} events in ${grouped(files)} files${rest}`, {
    folder,
    events,
    files,
    unused,
  })
}

function shrink(input: Input, file: string): void {
  const size = (): number => lstatSync(file).size
  const before = size()
  shrinkLog(file)
  const bytes = size()
  const words = `${file} has ${grouped(bytes)} bytes now, and had ${grouped(before)}`
  createProgressLine(input).end(words, { file, bytes, bytes_before: before })
}

const ofAnotherStore = (): ServiceError =>
  new ServiceError('config_invalid', {
    message:
      'EVENTSTORE_URL is set, so the log is in EventStoreDB, which keeps events whole: a scavenge that drops what an event says drops the event, and with it ids and revisions. Give its disk more room, or move the log into a folder (signal store copy to-folder) and archive there (docs/archiving.md)',
  })

/**
 * Makes the folder, and beside the log a link to it, the first time.
 *
 * @throws ServiceError `config_invalid` where the archive of the log is another folder; `store_unavailable` where the link leads nowhere
 */
function linkFolder(directory: string, folder: string, isThere: boolean): void {
  const link = archiveFolder(join(directory, 'events.db'))
  try {
    if (lstatSync(link, { throwIfNoEntry: false }) === undefined) {
      if (isThere)
        throw new ServiceError('config_invalid', {
          message: `nothing of the log in ${directory} was archived`,
        })
      makePrivateFolder(folder)
      if (!existsSync(link)) symlinkSync(realpathSync(folder), link, 'junction')
    }
    const target = realpathSync(link)
    if (existsSync(folder) && realpathSync(folder) === target) return
    throw new ServiceError('config_invalid', {
      message: `the archive of this log is ${target}, not ${folder}: to move it, move its files, and replace ${link} by a link to the new folder`,
    })
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw new ServiceError('store_unavailable', {
      message: `the archive of this log cannot be reached: ${reasonOf(error)}`,
      nextStep: `Mount its disk; ${link} must lead to it, and this user may write there.`,
      cause: error,
    })
  }
}
