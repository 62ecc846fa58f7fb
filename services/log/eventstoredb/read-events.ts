import { addAbortSignal, type Readable } from 'node:stream'
import type { EventStoreDBClient, ResolvedEvent, StreamingRead } from '@eventstore/db-client'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import { isErasable, isStreamName } from '../../../contracts/events/streams.ts'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { comparePositions, type Position, START } from '../../../contracts/infra/position.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import type { ReadAllOptions, ReadOptions } from '../event-store.ts'
import { matchesFilter } from '../follow-log.ts'
import { isClientError, isInvalidPosition, readError } from './client-errors.ts'
import type { Connection } from './connect.ts'
import { eventOf, isEntry, parseStored, type StoredEvent, storedOf, toLogPosition } from './recorded-event.ts'

/** The connection, as reads need it. */
export interface ReadContext {
  readonly connection: Connection
  /** How long the server may be silent in the middle of a read. */
  readonly answerTimeoutMs: number
  /** Resolves after the time, or as soon as the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Called with each event in the log that this service did not write, where somebody would have read it. */
  readonly onForeign: (stored: StoredEvent) => void
}

/** Events that the search for the newest one asks for at first: the server's own and erasable ones are rarely more. */
const HEAD_EVENTS = 32
/** How soon a reading that broke goes on. */
const RESUME_MS = 250
const NEVER = new AbortController().signal

/** Events of one stream; a missing stream, and one that was tombstoned, read as empty. */
export async function* readStoredStream(
  context: ReadContext,
  stream: string,
  { from, to, direction = 'forwards', limit = Infinity, signal }: ReadOptions = {},
): AsyncGenerator<RecordedEvent, void, void> {
  if (!isStreamName(stream)) return
  const isForwards = direction === 'forwards'
  const first = from === undefined ? undefined : Math.max(from, 0)
  const last = to ?? (isForwards ? Infinity : 0)
  const span = isForwards ? last - (first ?? 0) + 1 : (first ?? Infinity) - last + 1
  const maxCount = Math.min(limit, span, Number.MAX_SAFE_INTEGER)
  if (maxCount <= 0) return
  const fromRevision = first === undefined ? (isForwards ? 'start' : 'end') : BigInt(first)
  const request = { fromRevision, direction, maxCount, ...context.connection.always } as const
  try {
    for await (const given of readFrom(context, (client) => client.readStream(stream, request), signal)) {
      if (!isEntry(given, true)) continue
      const event = parseStored(given)
      if (event === undefined) throw foreignError(given)
      const { revision } = event
      // A first revision past the end makes the server begin at the end, so that a count is no bound.
      if (isForwards ? revision > last : revision < last) return
      yield event
    }
  } catch (error) {
    if (isClientError(error, 'stream-deleted') || isClientError(error, 'stream-not-found')) return
    throw readError(error, `reading ${stream}`)
  }
}

const foreignError = ({ type, revision, stream }: StoredEvent): ServiceError =>
  new ServiceError('event_unreadable', {
    message: `${type} at revision ${revision} of ${stream} was not written by this service; give the service a database of its own`,
  })

interface EntryOptions {
  readonly signal?: AbortSignal | undefined
  /** Called with every position, also of what is left out. */
  readonly onPosition?: (position: Position) => void
  readonly withKeys?: boolean
}

/**
 * The log after a position, without the server's own events and erasable ones, which are read by name only. @throws
 * ServiceError `invalid_request` for a position that is not one of this log
 */
export async function* readEntries(
  context: ReadContext,
  after: Position,
  { signal, onPosition, withKeys = false }: EntryOptions = {},
): AsyncGenerator<StoredEvent, void, void> {
  for (let reached = after; ; ) {
    const began = reached
    try {
      const request = { fromPosition: toLogPosition(began), ...context.connection.always }
      for await (const entry of readFrom(context, (client) => client.readAll(request), signal)) {
        onPosition?.(entry.position)
        // The server's reads include the position they begin at.
        if (!isEntry(entry, withKeys) || comparePositions(entry.position, reached) <= 0) continue
        reached = entry.position
        yield entry
      }
      return
    } catch (error) {
      if (await isInvalidHere(context, error)) throw invalidPositionError(began)
      const failure = readError(error, 'reading the log')
      // A connection that breaks now and then must not make a long reading begin anew each time: it would never end.
      if (reached === began || !isServiceError(failure, 'store_unavailable')) throw failure
      await context.sleep(RESUME_MS, signal ?? NEVER)
    }
  }
}

/**
 * Every event of the log with the keys of subjects, those left out that were erased: what a copy of the log takes. The server
 * shows what is tombstoned until it is scavenged, so that each key is looked for by name.
 */
export async function* readCopies(
  context: ReadContext,
  after: Position = START,
): AsyncGenerator<RecordedEvent, void, void> {
  for await (const entry of readEntries(context, after, { withKeys: true })) {
    const event = eventOf(entry, context.onForeign)
    if (event === undefined) continue
    if (!isErasable(event.stream)) yield event
    else yield* readStoredStream(context, event.stream, { from: event.revision, limit: 1 })
  }
}

/** Events of the whole log. The client can filter subscriptions only, so that reads are filtered here. */
export async function* readWholeLog(
  context: ReadContext,
  { after = START, upTo, filter, limit = Infinity, signal, onLooked }: ReadAllOptions = {},
): AsyncGenerator<RecordedEvent, void, void> {
  if (limit <= 0) return
  if (typeof upTo === 'string') toLogPosition(upTo)
  let left = limit
  let looked = 0
  let before = after
  let reached: Position = START
  const onPosition = (position: Position): void => void (reached = position)
  for await (const entry of readEntries(context, after, { signal, onPosition })) {
    const isPast =
      upTo instanceof Date
        ? (eventOf(entry, () => undefined)?.at ?? entry.created) > upTo.toISOString()
        : upTo !== undefined && comparePositions(entry.position, upTo) > 0
    if (isPast) return
    if (++looked === LIMITS.readPageEvents) {
      looked = 0
      await onLooked?.({ upTo: before, events: LIMITS.readPageEvents })
    }
    before = entry.position
    const event = matchesFilter(entry, filter) ? eventOf(entry, context.onForeign) : undefined
    if (event === undefined) continue
    assert(left > 0, 'a read gives no more events than its limit', left)
    yield event
    left -= 1
    if (left === 0) return
  }
  // A reader of events up to a position takes them for all there are, and a server that has not come so far returns fewer.
  const isShort = typeof upTo === 'string' && comparePositions(reached, upTo) < 0
  if (isShort && comparePositions(after, upTo) < 0 && signal?.aborted !== true)
    throw new ServiceError('store_unavailable', {
      message: `the server gave its log up to ${reached}, and the log is known to go on to ${upTo}`,
    })
}

/** The service's newest event: the server's own, which may come after it, do not count. */
export async function readNewest(
  context: ReadContext,
  signal?: AbortSignal,
): Promise<StoredEvent | undefined> {
  try {
    for (const maxCount of [HEAD_EVENTS, Number.MAX_SAFE_INTEGER]) {
      const { always } = context.connection
      const request = { fromPosition: 'end', direction: 'backwards', maxCount, ...always } as const
      let given = 0
      for await (const stored of readFrom(context, (client) => client.readAll(request), signal)) {
        given += 1
        if (isEntry(stored)) return stored
      }
      if (given < maxCount) return undefined
    }
    return undefined
  } catch (error) {
    throw readError(error, 'reading the head of the log')
  }
}

export const readHead = async (context: ReadContext, signal?: AbortSignal): Promise<Position> =>
  (await readNewest(context, signal))?.position ?? START

/** @throws ServiceError `store_mismatch` for a log that does not hold an event where it was: it is another one */
export async function requireSameLog(context: ReadContext, known: StoredEvent): Promise<void> {
  const fromPosition = toLogPosition(known.position)
  const request = { fromPosition, maxCount: 1, ...context.connection.always }
  try {
    for await (const { position, serverId } of readFrom(context, (client) => client.readAll(request)))
      if (position === known.position && serverId === known.serverId) return
  } catch (error) {
    if (!(await isInvalidHere(context, error))) throw readError(error, 'verifying the log')
  }
  throw new ServiceError('store_mismatch', {
    message: `another log answers where this one did: the event at ${known.position}, which was read before, is not in it. It was restored from an older copy, or exchanged`,
  })
}

/** The server says no more of such a position than that the read failed: that the log can be read elsewhere tells the rest. */
async function isInvalidHere(context: ReadContext, error: unknown): Promise<boolean> {
  if (!isInvalidPosition(error)) return false
  return readHead(context).then(
    () => true,
    () => false,
  )
}

const invalidPositionError = (position: Position): ServiceError =>
  new ServiceError('invalid_request', {
    message: `Position ${position} is not one of this log: it is of another log, or of one that was restored from an older copy.`,
    nextStep: 'Begin anew: without a position, or with the one of an event that was read lately.',
  })

/**
 * The events of one read, as they come. What is not taken stays with the server. @throws the client's error;
 * ServiceError `store_unavailable` for a silent server, whose client is replaced then
 */
async function* readFrom(
  { connection, answerTimeoutMs }: ReadContext,
  begin: (client: EventStoreDBClient) => StreamingRead<ResolvedEvent>,
  signal: AbortSignal = NEVER,
): AsyncGenerator<StoredEvent, void, void> {
  if (signal.aborted) return
  const { client, replaced } = connection.current()
  const reading = begin(client)
  addAbortSignal(AbortSignal.any([signal, replaced]), reading as unknown as Readable)
  // One that comes when nobody waits any more.
  reading.on('error', () => undefined)
  const silence = (): ServiceError => {
    connection.renew()
    const message = `the server was silent for ${answerTimeoutMs} ms in a read`
    return new ServiceError('store_unavailable', { message })
  }
  try {
    const events = reading[Symbol.asyncIterator]() as AsyncIterator<ResolvedEvent, void>
    for (;;) {
      const next = await withTimeout(events.next(), answerTimeoutMs, silence)
      if (next.done === true) return
      if (next.value.event !== undefined) yield storedOf(next.value.event)
    }
  } catch (error) {
    if (signal.aborted) return
    const isGivenUp = replaced.aborted && !isServiceError(error)
    throw isGivenUp ? new Error('its connection was given up: the server was silent') : error
  } finally {
    // It may never have begun.
    reading.cancel().catch(() => undefined)
  }
}
