import { isServiceError, ServiceError } from '../../../../contracts/errors.ts'
import { withTimeout } from '../../async/with-timeout.ts'
import { appendFailure, isClientError } from './client-error.ts'
import { type ReadContext, readStoredStream } from './read-events.ts'

/**
 * Tombstones a stream. Its bytes leave the server's disk with the next scavenge, which is the operator's to
 * schedule; until then nothing but a read of the whole log by other means than this service shows them.
 */
export async function eraseStream(context: ReadContext, stream: string): Promise<void> {
  // The tombstone of a stream that never was would keep it from ever being.
  for await (const { event } of readStoredStream(context, stream, { limit: 1 })) {
    return tombstone(context, event.stream)
  }
}

async function tombstone({ client, answerTimeoutMs }: ReadContext, stream: string): Promise<void> {
  const erasing = client.tombstoneStream(stream, { expectedRevision: 'any', deadline: answerTimeoutMs })
  try {
    await withTimeout(erasing, answerTimeoutMs, () => noAnswer(stream, answerTimeoutMs))
  } catch (error) {
    // Somebody else was as quick.
    if (isClientError(error, 'stream-deleted')) return
    throw isServiceError(error) ? error : appendFailure(error, stream)
  }
}

const noAnswer = (stream: string, answerTimeoutMs: number): ServiceError =>
  new ServiceError('append_unknown', {
    message: `erasing ${stream}: EventStoreDB did not answer within ${answerTimeoutMs} ms`,
  })
