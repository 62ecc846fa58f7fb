import { ServiceError } from '../../../contracts/errors.ts'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { chatStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../../log/event-store.ts'
import {
  type AnsweredEvent,
  type ChatEvent,
  type Chatter,
  type ChatWindow,
  evolve,
  UNUSED,
} from './chat-window.ts'

/** The streams of chats. */
export interface ChatLog {
  /** A window with everything that is in its stream. @param known as it was last seen, from which is read on */
  read(chatter: Chatter, known?: ChatWindow): Promise<ChatWindow>
  /** @throws ServiceError `internal_error` where something else is there */
  answeredAt(payerId: string, windowId: string, revision: number): Promise<AnsweredEvent>
}

export function createChatLog(store: EventStore): ChatLog {
  return {
    async read({ id, window }, known = UNUSED) {
      const from = known.revision === 'no-stream' ? 0 : known.revision + 1
      let seen = known
      for await (const event of store.read(chatStream(id, window.id), { from })) {
        // EventStoreDB begins at the end where there is nothing from here on.
        if (event.revision >= from) seen = evolve(seen, chatEvent(event))
      }
      return seen
    },
    async answeredAt(payerId, windowId, revision) {
      const stream = chatStream(payerId, windowId)
      for await (const recorded of store.read(stream, { from: revision, limit: 1 })) {
        const event = chatEvent(recorded)
        if (event.type === 'ChatAnswered') return event
      }
      throw new ServiceError('internal_error', {
        message: `The index has a chat at revision ${revision} of ${stream}, where the log has none.`,
      })
    },
  }
}

function chatEvent(recorded: RecordedEvent): ChatEvent {
  const event = decodeEvent(recorded)
  if (event.type === 'ChatReserved' || event.type === 'ChatAnswered') return event
  throw new ServiceError('event_unreadable', {
    message: `The stream ${recorded.stream} holds a ${recorded.type} at revision ${recorded.revision}.`,
  })
}
