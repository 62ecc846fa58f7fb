import { isServiceError } from '../contracts/errors/errors.ts'
import type { NewEvent } from '../contracts/infra/event.ts'
import type { AppendResult, EventStore } from '../services/log/event-store.ts'

/** Appends behind the newest event of a stream, again if another append was first. */
export async function appendNext(
  store: Pick<EventStore, 'append' | 'read'>,
  stream: string,
  events: readonly NewEvent[],
): Promise<AppendResult> {
  for (;;) {
    let expected: number | 'no-stream' = 'no-stream'
    for await (const { revision } of store.read(stream, { direction: 'backwards', limit: 1 }))
      expected = revision
    try {
      return await store.append(stream, events, { expected })
    } catch (error) {
      if (!isServiceError(error, 'revision_conflict')) throw error
    }
  }
}
