import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { copyToEventStoreDb } from '../../log/copy/copy-to-eventstoredb.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { type Command, defineCommand, FOLDER_FLAGS, settingFlag, switchFlag } from '../kit/command.ts'
import { createProgressLine, grouped } from '../kit/output.ts'

const storeCopyCommand = defineCommand({
  name: 'store copy',
  summary: 'Copies the embedded log to EventStoreDB.',
  notes: [
    'Every event keeps its id, type, data, stream, revision and time; positions are those of the new store, also where an event names one. At the end all events are read back and compared. After an interruption, the same command continues the copy.',
    'Stop the service first: beside it, this is refused (exit code 7). See [backup.md](backup.md#how-do-i-move-the-log-to-eventstoredb).',
  ],
  flags: {
    to: { schema: z.literal('eventstoredb'), help: 'The kind of store to copy to.', example: 'eventstoredb' },
    ...FOLDER_FLAGS,
    'eventstore-url': { ...settingFlag('EVENTSTORE_URL'), schema: z.string().min(1) },
    json: switchFlag('Writes what was done to standard output, as JSON.'),
  },
  examples: ["signal store copy --to eventstoredb --eventstore-url 'esdb://localhost:2113?tls=false'"],
  async run(input) {
    const { flags, signal, now } = input
    const directory = join(flags['data-dir'], flags.market)
    const store = openEventStoreDbStore({ connectionString: flags['eventstore-url'] })
    const progress = createProgressLine(input)
    const onProgress = (events: number): void => progress.show(`${grouped(events)} events are there`)
    try {
      const done = await copyToEventStoreDb({ directory, store, newId: randomUUID, now, signal, onProgress })
      progress.end(
        `${grouped(done.events)} events of ${directory} are in EventStoreDB, ${grouped(done.copied)} of them new; both have the hash ${done.hash}`,
        done,
      )
    } catch (error) {
      // A store that goes away ends a copy, and loses nothing of it.
      if (!isServiceError(error, 'append_unknown') && !isServiceError(error, 'store_unavailable')) throw error
      const nextStep = 'Run the same command again when the store answers: it goes on where this one stopped.'
      throw new ServiceError('store_unavailable', { message: error.message, nextStep, cause: error })
    } finally {
      await store.close()
    }
  },
})

export const commands: readonly Command[] = [storeCopyCommand]
