import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { Revision } from '../../../contracts/event.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import { type AppendRefusal, idempotencyConflict, revisionConflict } from '../decide-append.ts'
import type { EncodedAppend } from '../encode-append.ts'
import type { AppendResult, ExpectedRevision } from '../event-store.ts'
import type { AppendLine, ServerAnswer } from './append-line.ts'
import { appendError, describeClientError, isClientError } from './client-error.ts'
import { type ReadContext, readStoredStream } from './read-events.ts'
import { proposeEvent, type StoredEvent, toPosition } from './recorded-event.ts'

export interface AppendContext extends ReadContext {
  /** A new UUID at each call. */
  readonly newId: () => string
  readonly appends: AppendLine
  /** Ends all waiting. */
  readonly closing: AbortSignal
}

/** Pauses between looks at a place that is taken and shows nothing; about a second together. */
const TAKEN_PAUSES_MS = [1, 2, 4, 8, 16, 32, 64, 100, 100, 100, 100, 100, 100, 100, 100, 100]

/**
 * One try to append. The server takes a repeat for a success by its ids alone. So where the expectation names a place,
 * each try has new ids, a repeat is refused, and the event there is compared by the service's own ids; with `any` and
 * `stream-exists` the event is read back to see whose attempt it holds.
 */
export async function appendEvents(context: AppendContext, append: EncodedAppend): Promise<AppendResult> {
  const attempt = context.newId()
  const firstRevision = namedPlace(append.expected)
  let answer: ServerAnswer
  try {
    answer = await sendAppend(context, append, attempt, firstRevision === undefined)
  } catch (error) {
    if (!isClientError(error, 'wrong-expected-version')) throw error
    const head = actualHead(error)
    if (firstRevision !== undefined) return compareStored(context, append, firstRevision, head)
    // `any` cannot be wrong about the stream: some of the ids were appended before, and others not.
    throw refusedError(
      head === -1 ? revisionConflict(append, head) : idempotencyConflict(append.events[0], append.stream),
    )
  }
  const { revision, position } = answer
  if (firstRevision !== undefined && position !== undefined) {
    return { revision, position: toPosition(position), replayed: false }
  }
  return recognise(context, append, attempt, revision)
}

/** Revision that the first event gets if this expectation is met, where it names one. */
function namedPlace(expected: ExpectedRevision): Revision | undefined {
  if (expected === 'no-stream') return 0
  return typeof expected === 'number' ? expected + 1 : undefined
}

async function sendAppend(
  { appends, answerTimeoutMs, newId, lookElsewhere }: AppendContext,
  { stream, events, expected, at }: EncodedAppend,
  attempt: string,
  keepIds: boolean,
): Promise<ServerAnswer> {
  const proposed = events.map((event) => proposeEvent(event, keepIds ? event.id : newId(), attempt, at))
  const givingUp = new AbortController()
  const sending = appends.send({ stream, events: proposed, expected }, givingUp.signal)
  try {
    return await withTimeout(sending, answerTimeoutMs, () => {
      givingUp.abort()
      lookElsewhere()
      return noAnswerError(stream, answerTimeoutMs)
    })
  } catch (error) {
    if (error instanceof ServiceError || isClientError(error, 'wrong-expected-version')) throw error
    throw appendError(error, stream)
  }
}

const noAnswerError = (stream: string, answerTimeoutMs: number): ServiceError =>
  new ServiceError('append_unknown', {
    message: `append to ${stream}: EventStoreDB did not answer within ${answerTimeoutMs} ms`,
  })

const notReadableError = (stream: string, revision: Revision, cause?: ServiceError): ServiceError =>
  new ServiceError('append_unknown', {
    message: `append to ${stream}: revision ${revision} is taken by an event that cannot be read yet`,
    cause,
  })

/** The newest revision that a wrong-expected-version error reports, -1 for a missing stream. */
function actualHead(error: unknown): Revision {
  const actual = error instanceof Error && 'actualVersion' in error ? error.actualVersion : undefined
  if (typeof actual === 'bigint') return Number(actual)
  if (actual === 'no_stream') return -1
  throw new ServiceError('internal_error', {
    message: `EventStoreDB reported the stream to be at ${String(actual)} (${describeClientError(error).message})`,
    cause: error,
  })
}

/** Decides a refused append by what is in its place: the same append, part of it, or something else. */
async function compareStored(
  context: AppendContext,
  append: EncodedAppend,
  firstRevision: Revision,
  head: Revision,
): Promise<AppendResult> {
  const count = Math.min(append.events.length, head - firstRevision + 1)
  const stored = count <= 0 ? [] : await readTaken(context, append, firstRevision, count)
  const ids = new Set(stored.map(({ event }) => event.id))
  const repeated = append.events.find((event) => ids.has(event.id))
  if (repeated === undefined) throw refusedError(revisionConflict(append, head))
  return replayOf(append, stored)
}

/**
 * The event at a revision that is taken. The server refuses a revision once it is written, and shows its event once it
 * is replicated; until then nobody can tell whose it is.
 */
async function readTaken(
  context: AppendContext,
  append: EncodedAppend,
  firstRevision: Revision,
  count: number,
): Promise<StoredEvent[]> {
  for (const pauseMs of [...TAKEN_PAUSES_MS, undefined]) {
    const stored = await readPlace(context, append, firstRevision, count).catch((error: unknown) => {
      throw isServiceError(error, 'store_unavailable')
        ? notReadableError(append.stream, firstRevision, error)
        : error
    })
    const shown = stored[0]?.event.revision ?? -1
    // Later events that show say that those of the place were removed. Where none shows, the server begins at the end.
    if (shown > firstRevision || (shown === firstRevision && stored.length === count)) return stored
    if (pauseMs === undefined || context.closing.aborted) break
    await context.sleep(pauseMs, context.closing)
  }
  throw notReadableError(append.stream, firstRevision)
}

/** Finds out whether an answered append was written by this attempt, or was in the log already. */
async function recognise(
  context: AppendContext,
  append: EncodedAppend,
  attempt: string,
  lastRevision: Revision,
): Promise<AppendResult> {
  const count = append.events.length
  try {
    const [last] = await readPlace(context, append, lastRevision, 1)
    if (last?.attempt === attempt) {
      return { revision: lastRevision, position: last.event.position, replayed: false }
    }
    return replayOf(append, await readPlace(context, append, lastRevision - count + 1, count))
  } catch (error) {
    if (!isServiceError(error, 'store_unavailable')) throw error
    throw new ServiceError('append_unknown', {
      message: `append to ${append.stream}: written, but it could not be read back to see when`,
      cause: error,
    })
  }
}

function replayOf(append: EncodedAppend, stored: readonly StoredEvent[]): AppendResult {
  const last = stored.at(-1)
  const differing = append.events.find((event, index) => {
    const there = stored[index]?.event
    return (
      there?.id !== event.id ||
      there.type !== event.type ||
      there.schema !== event.schema ||
      JSON.stringify(there.data) !== event.data
    )
  })
  if (differing !== undefined || last === undefined)
    throw refusedError(idempotencyConflict(differing, append.stream))
  return { revision: last.event.revision, position: last.event.position, replayed: true }
}

async function readPlace(
  context: AppendContext,
  { stream }: EncodedAppend,
  from: Revision,
  limit: number,
): Promise<StoredEvent[]> {
  const place: StoredEvent[] = []
  for await (const stored of readStoredStream(context, stream, { from, limit })) place.push(stored)
  return place
}

const refusedError = (refusal: AppendRefusal): ServiceError => new ServiceError(refusal.code, refusal)
