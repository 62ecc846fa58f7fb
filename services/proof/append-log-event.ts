import type { NewEvent, Revision } from '../../contracts/event.ts'
import { appendUntilKnown, LOOKS_AGAIN, type LogUse } from '../log/append-until-known.ts'

export type LogWriterOptions = Omit<LogUse, 'signal'>

/**
 * Appends an event at the end of a stream of the transparency log. Where two processes append at a time one does, and the next look
 * of the other reads what it has appended.
 */
export async function appendLogEvent(
  { store, now, sleep }: LogWriterOptions,
  stream: string,
  event: NewEvent,
  signal: AbortSignal,
): Promise<void> {
  let expected: Revision | 'no-stream' = 'no-stream'
  for await (const { revision } of store.read(stream, { direction: 'backwards', limit: 1 }))
    expected = revision
  const path = { store, policy: LOOKS_AGAIN, now, sleep, signal }
  const outcome = await appendUntilKnown(path, { stream, events: [event], expected })
  if (outcome.kind === 'refused' || outcome.kind === 'unknown') throw outcome.error
}
