import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { RecordedEvent, Revision } from '../../../contracts/infra/event.ts'
import type { Position } from '../../../contracts/infra/position.ts'
import { withTimeout } from '../../runtime/async/with-timeout.ts'
import { type AppendRefusal, idempotencyConflict, revisionConflict } from '../decide-append.ts'
import type { AppendResult } from '../event-store.ts'
import type { EncodedAppend } from '../validate-append.ts'
import { appendError, describeClientError, isClientError } from './client-errors.ts'
import { type ReadContext, readStoredStream } from './read-events.ts'
import { proposeEvent } from './recorded-event.ts'

export interface AppendContext extends ReadContext {
  readonly newId: () => string
  readonly closing: AbortSignal
}

/** Pauses between reads of a revision that is taken and shows nothing; about a second together. */
const TAKEN_PAUSES_MS = [1, 2, 4, 8, 16, 32, 64, 100, 100, 100, 100, 100, 100, 100, 100, 100]

/**
 * One try to append. The server takes a repeat for a success by its ids alone. So each try has new ids, a repeat is
 * refused, and the events at its revisions are compared by the service's own ids.
 */
export async function appendEvents(context: AppendContext, append: EncodedAppend): Promise<AppendResult> {
  const firstRevision = append.expected === 'no-stream' ? 0 : append.expected + 1
  try {
    const { revision, position } = await sendAppend(context, append)
    if (position === undefined) return await compareStored(context, append, firstRevision, revision)
    return { revision, position, replayed: false }
  } catch (error) {
    if (!isClientError(error, 'wrong-expected-version')) throw error
    return compareStored(context, append, firstRevision, actualHead(error))
  }
}

async function sendAppend(
  context: AppendContext,
  { stream, events, expected, at }: EncodedAppend,
): Promise<{ readonly revision: Revision; readonly position: Position | undefined }> {
  const { connection, answerTimeoutMs: deadline, newId } = context
  const proposed = events.map((event) => proposeEvent(event, newId(), at))
  const expectedRevision = expected === 'no-stream' ? 'no_stream' : BigInt(expected)
  // Without credentials of its own an append goes over one call for all, in the order in which they are sent: that is how
  // a log is copied.
  const { requiresLeader, credentials } = connection.always
  const calling = at === undefined ? { requiresLeader, credentials } : { requiresLeader }
  const { client } = connection.current()
  const sent = client.appendToStream(stream, proposed, { ...calling, expectedRevision, deadline })
  try {
    const { nextExpectedRevision, position } = await answered(context, sent, `append to ${stream}`)
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

/** @throws ServiceError `append_unknown` for a server that is silent for too long */
const answered = <Answer>(
  { answerTimeoutMs }: ReadContext,
  work: Promise<Answer>,
  what: string,
): Promise<Answer> =>
  withTimeout(work, answerTimeoutMs, () => {
    const message = `${what}: the server did not answer within ${answerTimeoutMs} ms`
    return new ServiceError('append_unknown', { message })
  })

/** The newest revision that a wrong-expected-version error reports, -1 for a missing stream. */
function actualHead(error: unknown): Revision {
  const actual = error instanceof Error && 'actualVersion' in error ? error.actualVersion : undefined
  if (typeof actual === 'bigint') return Number(actual)
  if (actual === 'no_stream') return -1
  throw new ServiceError('internal_error', {
    message: `the server reported the stream to be at ${String(actual)} (${describeClientError(error).message})`,
    cause: error,
  })
}

/** Decides a refused append by what is at its revisions: the same append, part of it, or something else. */
async function compareStored(
  context: AppendContext,
  append: EncodedAppend,
  firstRevision: Revision,
  head: Revision,
): Promise<AppendResult> {
  const count = Math.min(append.events.length, head - firstRevision + 1)
  const stored = count <= 0 ? [] : await readTaken(context, append, firstRevision, count)
  const ids = new Set(stored.map(({ id }) => id))
  if (!append.events.some(({ id }) => ids.has(id))) throw refusedError(revisionConflict(append, head))
  const differing = append.events.find((event, index) => {
    const there = stored[index]
    return (
      there?.id !== event.id ||
      there.type !== event.type ||
      there.schema !== event.schema ||
      JSON.stringify(there.data) !== event.data
    )
  })
  const last = stored.at(-1)
  if (differing !== undefined || last === undefined)
    throw refusedError(idempotencyConflict(differing, append.stream))
  return { revision: last.revision, position: last.position, replayed: true }
}

/**
 * The events at revisions that are taken. The server refuses a revision once it is written, and shows its event once it
 * is replicated; until then nobody can tell whose it is.
 */
async function readTaken(
  context: AppendContext,
  { stream }: EncodedAppend,
  from: Revision,
  limit: number,
): Promise<RecordedEvent[]> {
  const notReadable = (cause?: unknown): ServiceError =>
    new ServiceError('append_unknown', {
      message: `append to ${stream}: revision ${from} is taken by an event that cannot be read yet`,
      cause,
    })
  for (const pauseMs of [...TAKEN_PAUSES_MS, undefined]) {
    const stored = await Array.fromAsync(readStoredStream(context, stream, { from, limit })).catch(
      (error: unknown) => {
        throw isServiceError(error, 'store_unavailable') ? notReadable(error) : error
      },
    )
    const shown = stored[0]?.revision ?? -1
    // Later events that show say that those before were removed. If none shows, the server begins at the end.
    if (shown > from || (shown === from && stored.length === limit)) return stored
    if (pauseMs === undefined || context.closing.aborted) break
    await context.sleep(pauseMs, context.closing)
  }
  throw notReadable()
}

const refusedError = (refusal: AppendRefusal): ServiceError => new ServiceError(refusal.code, refusal)

/**
 * Tombstones a stream. Its bytes leave the server's disk with the next scavenge, which is the operator's to
 * schedule; until then nothing but a read of the whole log by other means than this service shows them.
 */
export async function eraseStream(context: ReadContext, stream: string): Promise<void> {
  const { connection, answerTimeoutMs: deadline } = context
  // The tombstone of a stream that never was would keep it from ever being.
  if ((await Array.fromAsync(readStoredStream(context, stream, { limit: 1 }))).length === 0) return
  const options = { ...connection.always, expectedRevision: 'any', deadline } as const
  try {
    const erasing = connection.current().client.tombstoneStream(stream, options)
    await answered(context, erasing, `erasing ${stream}`)
  } catch (error) {
    // Somebody else was as quick.
    if (isClientError(error, 'stream-deleted')) return
    throw isServiceError(error) ? error : appendError(error, stream)
  }
}
