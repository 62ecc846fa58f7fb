import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { addWrappingKey, WRAPPING_KEYS_FILE } from '../../runtime/secrets/wrapping-keys.ts'
import { takeFileLock } from '../../runtime/sqlite/file-lock.ts'
import { type Command, defineCommand } from '../kit/command.ts'
import { FOLDER_FLAGS, switchFlag } from '../kit/common-flags.ts'

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
    if (!existsSync(directory))
      throw new ServiceError('config_invalid', {
        message: `there is no ${directory}: name the folder (--data-dir) and the market (--market)`,
      })
    if (!flags.yes)
      throw new ServiceError('config_invalid', { message: 'this makes a new key: confirm with --yes' })
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

export const commands: readonly Command[] = [sealingKeyCommand]
