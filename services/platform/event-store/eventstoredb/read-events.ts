import type { EventStoreDBClient, ResolvedEvent, StreamingRead } from '@eventstore/db-client'
import { ServiceError } from '../../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../../contracts/event.ts'
import { LIMITS } from '../../../../contracts/limits.ts'
import { comparePositions, type Position, START } from '../../../../contracts/position.ts'
import { isStreamName } from '../../../../contracts/streams.ts'
import { withTimeout } from '../../async/with-timeout.ts'
import { matchesFilter } from '../event-filter.ts'
import type { ReadAllOptions, ReadOptions } from '../event-store.ts'
import { isClientError, readFailure } from './client-error.ts'
import { pullEvents } from './event-pull.ts'
import { parseStored, type StoredEvent, toLogPosition, toPosition } from './recorded-event.ts'

/** What reads need of the connection. */
export interface ReadContext {
  readonly client: EventStoreDBClient
  /** How long the server may be silent in the middle of a read. */
  readonly answerTimeoutMs: number
}

/** Events of one stream; a missing stream, and one that was tombstoned, read as empty. */
export async function* readStoredStream(
  context: ReadContext,
  stream: string,
  { from, to, direction = 'forwards', limit = Infinity, signal }: ReadOptions = {},
): AsyncGenerator<StoredEvent, void, void> {
  if (!isStreamName(stream)) return
  const isForwards = direction === 'forwards'
  const first = from === undefined ? undefined : Math.max(from, 0)
  const last = to ?? (isForwards ? Infinity : 0)
  const span = isForwards ? last - (first ?? 0) + 1 : (first ?? Infinity) - last + 1
  const maxCount = Math.min(limit, span, Number.MAX_SAFE_INTEGER)
  if (maxCount <= 0) return
  const open = (): StreamingRead<ResolvedEvent> =>
    context.client.readStream(stream, {
      direction,
      maxCount,
      fromRevision: first === undefined ? (isForwards ? 'start' : 'end') : BigInt(first),
    })
  try {
    for await (const stored of streamStored(context, open, signal)) {
      const { revision } = stored.event
      // A first revision past the end makes the server begin at the end, so that a count is no bound.
      if (isForwards ? revision > last : revision < last) return
      yield stored
    }
  } catch (error) {
    if (isClientError(error, 'stream-not-found') || isClientError(error, 'stream-deleted')) return
    throw readFailure(error, `reading ${stream}`)
  }
}

/** Events of the whole log. The client can filter subscriptions only, so that reads are filtered here. */
export async function* readWholeLog(
  context: ReadContext,
  { after = START, upTo, filter, limit = Infinity, signal, onLooked }: ReadAllOptions = {},
): AsyncGenerator<RecordedEvent, void, void> {
  if (limit <= 0) return
  const fromPosition = toLogPosition(after)
  if (typeof upTo === 'string') toLogPosition(upTo)
  const isPast = (event: RecordedEvent): boolean =>
    upTo instanceof Date
      ? event.at > upTo.toISOString()
      : upTo !== undefined && comparePositions(event.position, upTo) > 0
  let left = limit
  let lookedUpTo: Position = START
  const look = ({ event }: ResolvedEvent): void => {
    if (event?.position !== undefined) lookedUpTo = toPosition(event.position)
  }
  let looked = 0
  let before = after
  try {
    const open = () => context.client.readAll({ fromPosition })
    for await (const { event } of streamStored(context, open, signal, look)) {
      if (isPast(event)) return
      if (++looked === LIMITS.readPageEvents) {
        looked = 0
        await onLooked?.({ upTo: before, events: LIMITS.readPageEvents })
      }
      before = event.position
      // The server's reads include the position they begin at.
      if (comparePositions(event.position, after) <= 0 || !matchesFilter(event, filter)) continue
      yield event
      left -= 1
      if (left === 0) return
    }
  } catch (error) {
    throw readFailure(error, 'reading the log')
  }
  // Whoever asks for events up to a position takes them for all there are: a server that has not come so far says less.
  const isShort = typeof upTo === 'string' && comparePositions(lookedUpTo, upTo) < 0
  if (isShort && comparePositions(after, upTo) < 0 && signal?.aborted !== true) {
    throw new ServiceError('store_unavailable', {
      message: `EventStoreDB gave its log up to ${lookedUpTo}, where it is known to go on to ${upTo}`,
    })
  }
}

/** Position of the service's newest event: EventStoreDB's own, which may come after it, do not count. */
export async function readHead(context: ReadContext, signal?: AbortSignal): Promise<Position> {
  try {
    const open = () => context.client.readAll({ direction: 'backwards', fromPosition: 'end' })
    for await (const { event } of streamStored(context, open, signal)) return event.position
    return START
  } catch (error) {
    throw readFailure(error, 'reading the head of the log')
  }
}

async function* streamStored(
  { answerTimeoutMs }: ReadContext,
  open: () => StreamingRead<ResolvedEvent>,
  signal: AbortSignal | undefined,
  look: (event: ResolvedEvent) => void = () => undefined,
): AsyncGenerator<StoredEvent, void, void> {
  const isAborted = (): boolean => signal?.aborted === true
  if (isAborted()) return
  const stream = open()
  const pull = pullEvents({ stream, cancel: () => stream.cancel() })
  signal?.addEventListener('abort', pull.wake)
  try {
    while (!isAborted()) {
      const next = pull.take()
      if (next !== undefined) {
        look(next)
        const stored = parseStored(next)
        if (stored !== undefined) yield stored
      } else if (pull.ended) {
        return
      } else {
        await withTimeout(pull.change(), answerTimeoutMs, () => noAnswer(answerTimeoutMs))
      }
    }
  } finally {
    signal?.removeEventListener('abort', pull.wake)
    pull.cancel()
  }
}

const noAnswer = (answerTimeoutMs: number): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `EventStoreDB was silent for ${answerTimeoutMs} ms in a read`,
  })
