import type { ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEventOf } from '../../../contracts/events/event-catalogue.ts'
import type { NewEvent, RecordedEvent } from '../../../contracts/infra/event.ts'
import {
  type AppendOutcome,
  appendWithRetry,
  type LogUse,
  RETRY_FOR_CALLER,
} from '../../log/append-with-retry.ts'
import { pauseForOthers } from '../../log/command-handler.ts'
import type { Balance, DebitEvent } from './balance.ts'

export type DebitLog = ReturnType<typeof createDebitLog>

const EVENTS_WORTH_READING = 1_000
/** Hiccups are waited out by those they happen to, and are no reason to turn others away. */
const MOMENT_MS = 250

/** The streams of debits, as the ledger reads and writes them. */
export function createDebitLog(options: Omit<LogUse, 'newId'>) {
  const { store, now } = options
  const path = { ...options, policy: RETRY_FOR_CALLER }
  /** Appends that have failed and are being repeated, and since when there has been one. */
  const failing = { count: 0, since: 0, error: undefined as ServiceError | undefined }

  async function first(events: AsyncIterable<RecordedEvent>): Promise<DebitEvent | undefined> {
    for await (const event of events) return debitOf(event)
    return undefined
  }

  return {
    newest: (stream: string) => first(store.read(stream, { direction: 'backwards', limit: 1 })),
    at: (stream: string, revision: number) => first(store.read(stream, { from: revision, limit: 1 })),
    /** The debits in front of a revision, or from the end of the stream, newest first. */
    async before(stream: string, revision: number | undefined, limit: number): Promise<DebitEvent[]> {
      const debits: DebitEvent[] = []
      if (revision === 0) return debits
      const from = revision === undefined ? {} : { from: revision - 1 }
      for await (const event of store.read(stream, { direction: 'backwards', ...from })) {
        debits.push(debitOf(event))
        if (debits.length === limit) break
      }
      return debits
    },
    /** The events after a revision, oldest first; undefined if there are too many to read. */
    async behind(stream: string, revision: Balance['revision']): Promise<DebitEvent[] | undefined> {
      const from = revision === 'no-stream' ? 0 : revision + 1
      const events: DebitEvent[] = []
      for await (const event of store.read(stream, { from, limit: EVENTS_WORTH_READING })) {
        events.push(debitOf(event))
      }
      return events.length < EVENTS_WORTH_READING ? events : undefined
    },
    /**
     * Appends at an explicit revision, and repeats the same append while the log does not answer: that is safe, and the
     * only way to learn its outcome.
     *
     * @param since when the caller began to wait, Unix milliseconds; the wait is bounded from there
     */
    async append(
      stream: string,
      events: readonly NewEvent[],
      expected: Balance['revision'],
      since: number,
    ): Promise<AppendOutcome> {
      let hasFailed = false
      const onFailure = (error: ServiceError): void => {
        if (failing.count === 0) failing.since = now()
        if (!hasFailed) failing.count += 1
        hasFailed = true
        failing.error = error
      }
      try {
        return await appendWithRetry({ ...path, onFailure }, { stream, events, expected, since })
      } finally {
        if (hasFailed) failing.count -= 1
      }
    },
    /** Before it is decided anew, behind so many conflicts. */
    pause: (conflicts: number) => pauseForOthers(path, conflicts),
    /** The reason why appends have been waiting for longer than a moment, if any. */
    problem: () => (failing.count > 0 && now() - failing.since > MOMENT_MS ? failing.error : undefined),
  }
}

const debitOf = (recorded: RecordedEvent): DebitEvent => decodeEventOf(recorded, 'QuotaDebited')
