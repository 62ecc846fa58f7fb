import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent, Revision } from '../../../contracts/event.ts'
import type { Position } from '../../../contracts/position.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import { type AppendRefusal, idempotencyConflict, revisionConflict } from '../decide-append.ts'
import type { AppendResult, ExpectedRevision } from '../event-store.ts'
import type { EncodedAppend } from '../validate-append.ts'
import { appendError, describeClientError, isClientError } from './client-errors.ts'
import { type ReadContext, readStoredStream } from './read-events.ts'
import { proposeEvent } from './recorded-event.ts'

export interface AppendContext extends ReadContext {
  /** A new UUID at each call. */
  readonly newId: () => string
  /** Ends all waiting. */
  readonly closing: AbortSignal
}

/** Pauses between looks at a place that is taken and shows nothing; about a second together. */
const TAKEN_PAUSES_MS = [1, 2, 4, 8, 16, 32, 64, 100, 100, 100, 100, 100, 100, 100, 100, 100]

/**
 * One try to append. The server takes a repeat for a success by its ids alone. So each try has new ids, a repeat is
 * refused, and the event in its place is compared by the service's own ids.
 */
export async function appendEvents(context: AppendContext, append: EncodedAppend): Promise<AppendResult> {
  const { expected } = append
  const firstRevision = expected === 'no-stream' ? 0 : expected + 1
  try {
    const { revision, position } = await sendAppend(context, append, expected)
    if (position === undefined) return compareStored(context, append, firstRevision, revision)
    return { revision, position, replayed: false }
  } catch (error) {
    if (!isClientError(error, 'wrong-expected-version')) throw error
    return compareStored(context, append, firstRevision, actualHead(error))
  }
}

async function sendAppend(
  { connection, answerTimeoutMs, newId }: AppendContext,
  { stream, events, at }: EncodedAppend,
  expected: ExpectedRevision,
): Promise<{ readonly revision: Revision; readonly position: Position | undefined }> {
  const proposed = events.map((event) => proposeEvent(event, newId(), at))
  const { client } = connection.current()
  const expectedRevision = expected === 'no-stream' ? 'no_stream' : BigInt(expected)
  // Without credentials of its own an append goes over one call for all, in the order in which they are sent: that is how
  // a log is copied.
  const { requiresLeader, credentials } = connection.always
  const calling = at === undefined ? { requiresLeader, credentials } : { requiresLeader }
  const options = { ...calling, expectedRevision, deadline: answerTimeoutMs } as const
  try {
    const { nextExpectedRevision, position } = await withTimeout(
      client.appendToStream(stream, proposed, options),
      answerTimeoutMs,
      () => noAnswerError(stream, answerTimeoutMs),
    )
    return {
      revision: Number(nextExpectedRevision),
      position: position && `${position.commit}/${position.prepare}`,
    }
  } catch (error) {
    if (isServiceError(error, 'append_unknown') || isClientError(error, 'deadline-exceeded'))
      connection.renew()
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
  const ids = new Set(stored.map(({ id }) => id))
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
): Promise<RecordedEvent[]> {
  for (const pauseMs of [...TAKEN_PAUSES_MS, undefined]) {
    const stored = await Array.fromAsync(
      readStoredStream(context, append.stream, { from: firstRevision, limit: count }),
    ).catch((error: unknown) => {
      throw isServiceError(error, 'store_unavailable')
        ? notReadableError(append.stream, firstRevision, error)
        : error
    })
    const shown = stored[0]?.revision ?? -1
    // Later events that show say that those of the place were removed. Where none shows, the server begins at the end.
    if (shown > firstRevision || (shown === firstRevision && stored.length === count)) return stored
    if (pauseMs === undefined || context.closing.aborted) break
    await context.sleep(pauseMs, context.closing)
  }
  throw notReadableError(append.stream, firstRevision)
}

function replayOf(append: EncodedAppend, stored: readonly RecordedEvent[]): AppendResult {
  const last = stored.at(-1)
  const differing = append.events.find((event, index) => {
    const there = stored[index]
    return (
      there?.id !== event.id ||
      there.type !== event.type ||
      there.schema !== event.schema ||
      JSON.stringify(there.data) !== event.data
    )
  })
  if (differing !== undefined || last === undefined)
    throw refusedError(idempotencyConflict(differing, append.stream))
  return { revision: last.revision, position: last.position, replayed: true }
}

const refusedError = (refusal: AppendRefusal): ServiceError => new ServiceError(refusal.code, refusal)
