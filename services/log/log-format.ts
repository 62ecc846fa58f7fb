import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import type { NewEvent } from '../../contracts/event.ts'
import {
  decodeEvent,
  FIRST_LOG_FORMAT,
  inFormat,
  LogFormatRaised,
  NEWEST_LOG_FORMAT,
} from '../../contracts/event-catalogue.ts'
import { newEvent } from '../../contracts/event-definition.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { STORE_IDENTITY_STREAM } from '../../contracts/streams.ts'
import { type AppendPath, appendedOr, appendUntilKnown } from './append-until-known.ts'
import type { AppendResult, EventStore } from './event-store.ts'

/** The format that a new log begins with, appended together with its first event. */
export const formatOfNewLog = (id: string, meta: NewEvent['meta']): NewEvent =>
  newEvent(LogFormatRaised, { id, data: { format: NEWEST_LOG_FORMAT }, meta })

/**
 * The format that a log records, perhaps one that this release does not know; the first where it says nothing. `newest`
 * is the newest revision that was read, -1 for none.
 */
export async function readLogFormat(
  store: Pick<EventStore, 'read'>,
  from = 0,
): Promise<{ readonly format: number; readonly newest: number }> {
  let [format, newest] = [FIRST_LOG_FORMAT, -1]
  for await (const recorded of store.read(STORE_IDENTITY_STREAM, { from })) {
    newest = recorded.revision
    if (recorded.type !== LogFormatRaised.type) continue
    const event = decodeEvent(recorded)
    if (event.type === 'LogFormatRaised') format = Math.max(format, event.data.format)
  }
  return { format, newest }
}

/** Undefined where one of the events cannot be said in the format. */
function formsIn(events: readonly NewEvent[], format: number): NewEvent[] | undefined {
  try {
    return events.map((event) => inFormat(event, format))
  } catch (error) {
    if (isServiceError(error, 'upgrade_under_way')) return undefined
    throw error
  }
}

/** The same events as another process sends them, which knows an older or newer format of the log than this one. */
function otherForms(events: readonly NewEvent[], sentNow: readonly NewEvent[]): (readonly NewEvent[])[] {
  const known = [sentNow]
  for (let other = NEWEST_LOG_FORMAT; other >= FIRST_LOG_FORMAT; other--) {
    const forms = formsIn(events, other)
    // What cannot be said in a format cannot be said in one before it.
    if (forms === undefined) break
    const isNew = known.every((one) => one.some(({ schema }, index) => schema !== forms[index]?.schema))
    if (isNew) known.push(forms)
  }
  return known.slice(1)
}

/** Appends events in the form in which this process sends them, else finds the append that another sent in its own form. */
async function appendInAnyForm(
  inner: EventStore,
  forms: readonly NewEvent[],
  [stream, events, options]: Parameters<EventStore['append']>,
): Promise<AppendResult> {
  try {
    return await inner.append(stream, forms, options)
  } catch (error) {
    if (!isServiceError(error, 'idempotency_conflict')) throw error
    for (const others of otherForms(events, forms)) {
      try {
        return await inner.append(stream, others, options)
      } catch (again) {
        if (!isServiceError(again, 'idempotency_conflict')) throw again
      }
    }
    throw error
  }
}

export type LogFormat = Awaited<ReturnType<typeof openLogFormat>>

/**
 * In which schemas processes write to a log that others of an older release may read.
 *
 * Processes of an older release may read the same log, so all write in the format that the log records until it is
 * raised. @throws ServiceError `event_unreadable` where a newer release raised it beyond what this one reads
 */
export async function openLogFormat(path: Omit<AppendPath, 'store'>, inner: EventStore, newId: () => string) {
  let format = FIRST_LOG_FORMAT
  let newest = -1
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  /** The form in which an event was sent first: a repeated append sends the very same. */
  const sent = new WeakMap<NewEvent, NewEvent>()

  async function learn(): Promise<void> {
    const read = await readLogFormat(inner, newest + 1)
    newest = Math.max(newest, read.newest)
    format = Math.max(format, read.format)
    if (format > NEWEST_LOG_FORMAT) throw tooNewError(format)
  }

  function formed(event: NewEvent): NewEvent {
    const before = sent.get(event)
    if (before !== undefined) return before
    const form = inFormat(event, format)
    sent.set(event, form)
    return form
  }

  const store: EventStore = {
    ...inner,
    append: async (...append) => appendInAnyForm(inner, append[1].map(formed), append),
  }

  await learn()
  return {
    /** The store, whose appends are written in the format of the log, not in the newest of this release. */
    store,
    /** The format of the log, as far as is known here; it never falls. */
    current: () => format,
    /** Rejects with `event_unreadable` once the log is of a format that this release does not read; never resolves. */
    failure: failed.promise,
    /**
     * Writes from now on what this release writes, and says so to every other process. @returns the format, raised or not
     * @throws ServiceError `outcome_unknown`, and of the store
     */
    async raise(meta: NewEvent['meta']) {
      await learn()
      while (format < NEWEST_LOG_FORMAT) {
        const event = newEvent(LogFormatRaised, { id: newId(), data: { format: NEWEST_LOG_FORMAT }, meta })
        const append = {
          stream: STORE_IDENTITY_STREAM,
          events: [event],
          expected: newest < 0 ? ('no-stream' as const) : newest,
        }
        appendedOr(await appendUntilKnown({ ...path, store: inner }, append), {
          what: 'the format of the log was raised',
          again: 'Ask again: it is raised once.',
        })
        await learn()
      }
      return format
    },
    /** Learns what others raise it to, until the signal; resolves then. */
    async follow(signal: AbortSignal) {
      const filter = { types: [LogFormatRaised.type] }
      while (!signal.aborted) {
        try {
          for await (const item of inner.subscribe({ after: 'end', filter, signal }))
            if (item.kind !== 'checkpoint') await learn()
        } catch (error) {
          if (isServiceError(error, 'event_unreadable')) return failed.reject(error)
          // The log is away, which others tell of: what was raised meanwhile is learned when it is back.
          await path.sleep(LIMITS.logCheckMs, signal)
        }
      }
    },
  }
}

const tooNewError = (format: number): ServiceError =>
  new ServiceError('event_unreadable', {
    message: `The log was raised to format ${format} by a newer release; this one reads up to ${NEWEST_LOG_FORMAT}.`,
  })
