import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import { openEventStoreDbStore } from '../../log/eventstoredb/eventstoredb-store.ts'
import { copyLog } from '../../log-operations/copy/copy-log.ts'
import { openEmbeddedSource, openEmbeddedTarget } from '../../log-operations/copy/embedded-ends.ts'
import {
  openEventStoreDbSource,
  openEventStoreDbTarget,
  REST_MS,
} from '../../log-operations/copy/eventstoredb-ends.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import { defineCommand } from '../kit/command.ts'
import { FOLDER_FLAGS, settingFlag, switchFlag } from '../kit/common-flags.ts'
import { createProgressLine, grouped } from '../kit/progress-line.ts'

const DIRECTIONS = ['to-eventstoredb', 'to-folder'] as const

export const storeCopyCommand = defineCommand({
  name: 'store copy',
  summary: 'Copies the log from the embedded store to EventStoreDB, or the other way.',
  notes: [
    'The direction is to-eventstoredb (from --data-dir) or to-folder (into --data-dir, which must hold no log). Every event keeps its id, type, data, stream, revision and time; positions are those of the new store, also where an event names one. At the end all events are read back and compared. After an interruption, the same command continues the copy.',
    'It may run beside the service. Such a copy is not complete, and no process starts on it: stop the service and run the same command again, which adds the rest. See [backup.md](backup.md#how-do-i-move-the-log-to-eventstoredb-or-back).',
  ],
  operands: ['direction'],
  flags: {
    ...FOLDER_FLAGS,
    'eventstore-url': { ...settingFlag('EVENTSTORE_URL'), schema: z.string().min(1).optional() },
    json: switchFlag('Writes what was done to standard output, as JSON.'),
  },
  examples: ["signal store copy to-eventstoredb --eventstore-url 'esdb://localhost:2113?tls=false'"],
  async run(input) {
    const {
      operands: [direction = ''],
      flags,
      stderr,
      signal,
      now,
    } = input
    if (!(DIRECTIONS as readonly string[]).includes(direction))
      throw new ServiceError('config_invalid', {
        message: `the direction is ${DIRECTIONS.join(' or ')}, not ${JSON.stringify(direction.slice(0, 40))}`,
      })
    const connectionString = flags['eventstore-url']
    if (connectionString === undefined)
      throw new ServiceError('config_invalid', { message: '--eventstore-url (EVENTSTORE_URL) is missing' })
    const directory = join(flags['data-dir'], flags.market)
    const store = openEventStoreDbStore({ connectionString })
    const progress = createProgressLine(input)
    try {
      const folder = direction === 'to-folder' ? openEmbeddedTarget(directory) : openEmbeddedSource(directory)
      const ends =
        'finish' in folder
          ? { source: openEventStoreDbSource(store, () => sleep(REST_MS, signal)), target: folder }
          : { source: folder, target: openEventStoreDbTarget(store, { newId: randomUUID, now }) }
      try {
        const { events, copied, hash, isFinished } = await copyLog({
          ...ends,
          signal,
          onProgress: (come) => progress.show(`${grouped(come.events)} events ${come.doing}`),
        })
        progress.end(
          `${grouped(events)} events of ${ends.source.description} are in ${ends.target.description}, ${grouped(copied)} of them new; both have the hash ${hash}`,
          { events, copied, hash, finished: isFinished },
        )
        if (!isFinished)
          stderr.write(
            'The source is written to meanwhile, so the copy is not for use yet. Stop the service and run the same command again.\n',
          )
      } catch (error) {
        throw goesOn(error)
      } finally {
        folder.close()
      }
    } finally {
      await store.close()
    }
  },
})

/** A store that goes away ends a copy, and loses nothing of it. */
function goesOn(error: unknown): unknown {
  if (!isServiceError(error, 'append_unknown') && !isServiceError(error, 'store_unavailable')) return error
  const nextStep = 'Run the same command again when the store answers: it goes on where this one stopped.'
  return new ServiceError('store_unavailable', { message: error.message, nextStep, cause: error })
}
