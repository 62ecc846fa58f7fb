import { randomUUID } from 'node:crypto'
import { LOG_RELEASE, LogBegun } from '../../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../../contracts/events/event-definition.ts'
import { STORE_IDENTITY_STREAM, subjectStream } from '../../../../contracts/events/streams.ts'
import type { RecordedEvent } from '../../../../contracts/infra/event.ts'
import { appendNext } from '../../../../testing/append-next.ts'
import type { EventStore } from '../../../log/event-store.ts'

const meta = { correlationId: 'a test', actor: 'test' }

/** Begins a log of a simulated market. */
export async function beginLog(
  store: EventStore,
  id: string = randomUUID(),
  secretFingerprint = 'f'.repeat(64),
): Promise<string> {
  const event = newEvent(LogBegun, {
    id,
    data: { release: LOG_RELEASE, market: 'simulated', seed: 'demo', secretFingerprint },
    meta,
  })
  await store.append(STORE_IDENTITY_STREAM, [event], { expected: 'no-stream' })
  return id
}

/** Some events of several streams, with a tab and a line break in a text of each. */
export async function appendSome(store: EventStore, count: number, stream = 'made'): Promise<void> {
  for (let left = count; left > 0; left -= 50) {
    const events = Array.from({ length: Math.min(left, 50) }, (_, index) => ({
      id: randomUUID(),
      type: 'MadeUp',
      schema: 1,
      data: { text: `a\ttab, a\nline and ünïcödé ${left} ${index}` },
      meta,
    }))
    await appendNext(store, `${stream}-${left % 3}`, events)
  }
}

/** The key of a subject; its stream's name. */
export async function appendKey(
  store: EventStore,
  accountId: string = randomUUID(),
  wrapped = 'a wrapped key',
): Promise<string> {
  const stream = subjectStream(accountId, 0)
  const event = { id: randomUUID(), type: 'SubjectKeyCreated', schema: 1, data: { wrapped }, meta }
  await store.append(stream, [event], { expected: 'no-stream' })
  return stream
}

export async function eventsOf(events: AsyncIterable<RecordedEvent>): Promise<RecordedEvent[]> {
  const list: RecordedEvent[] = []
  for await (const event of events) list.push(event)
  return list
}

/** All but keys. */
export const readWhole = (store: EventStore): Promise<RecordedEvent[]> => eventsOf(store.readAll())
