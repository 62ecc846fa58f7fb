import type { NewEvent, Revision } from '../../../contracts/event.ts'
import { LOG_ANCHORS_STREAM } from '../../../contracts/streams.ts'
import { appendUntilKnown, LOOKS_AGAIN } from '../../log/append-until-known.ts'
import type { EventStore } from '../../log/event-store.ts'

export interface AnchorLogOptions {
  readonly store: EventStore
  readonly newId: () => string
  /** Unix milliseconds. */
  readonly now: () => number
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

/** Records where a checkpoint stands; of two at a time one does, and the next look sees it. */
export async function appendAnchor(
  { store, now, sleep }: AnchorLogOptions,
  event: NewEvent,
  signal: AbortSignal,
): Promise<void> {
  let expected: Revision | 'no-stream' = 'no-stream'
  for await (const { revision } of store.read(LOG_ANCHORS_STREAM, { direction: 'backwards', limit: 1 }))
    expected = revision
  const path = { store, policy: LOOKS_AGAIN, now, sleep, signal }
  const outcome = await appendUntilKnown(path, { stream: LOG_ANCHORS_STREAM, events: [event], expected })
  if (outcome.kind === 'refused' || outcome.kind === 'unknown') throw outcome.error
}
