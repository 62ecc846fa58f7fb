import { type ErrorCode, isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent, RecordedEvent } from '../../../contracts/event.ts'
import { decodeEvent } from '../../../contracts/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { chatStream } from '../../../contracts/streams.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import {
  type AnsweredEvent,
  type ChatEvent,
  type Chatter,
  type ChatWindow,
  evolve,
  UNUSED,
} from './chat-window.ts'

export interface ChatLogOptions {
  readonly store: EventStore
  /** Wall clock, Unix milliseconds. */
  readonly now: () => number
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Ends all waiting: what is under way is refused then. */
  readonly signal: AbortSignal
}

/** The streams of chats. */
export interface ChatLog {
  /** A window with everything that is in its stream. @param known as it was last seen, from which is read on */
  read(chatter: Chatter, known?: ChatWindow): Promise<ChatWindow>
  /** @throws ServiceError `internal_error` where something else is there */
  answeredAt(payerId: string, windowId: string, revision: number): Promise<AnsweredEvent>
  /**
   * Appends behind what a window was decided on, and repeats the very same append while the log does not confirm it.
   *
   * @returns false where something else came first, and all has to be decided anew
   * @throws ServiceError `store_unavailable`, `store_full`
   */
  append(chatter: Chatter, event: NewEvent, expected: ChatWindow['revision']): Promise<boolean>
}

const RETRY_MS = 50
/** An append that names a revision cannot happen any more once another event is in its place. */
const OVERTAKEN: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['revision_conflict', 'idempotency_conflict'])
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['store_unavailable', 'store_full'])

export function createChatLog({ store, now, sleep, signal }: ChatLogOptions): ChatLog {
  return {
    async read({ id, window }, known = UNUSED) {
      const from = known.revision === 'no-stream' ? 0 : known.revision + 1
      let seen = known
      for await (const event of store.read(chatStream(id, window.id), { from })) {
        seen = evolve(seen, chatEvent(event))
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
    async append({ id, window }, event, expected) {
      const began = now()
      let isUnknown = false
      for (;;) {
        try {
          await store.append(chatStream(id, window.id), [event], { expected })
          return true
        } catch (error) {
          if (!isServiceError(error)) throw error
          if (OVERTAKEN.has(error.code)) return false
          isUnknown ||= error.code === 'append_unknown'
          const patience = isUnknown ? LIMITS.appendSettleMs : LIMITS.appendWaitMs
          const isPassing = isUnknown || PASSING.has(error.code)
          if (!isPassing || signal.aborted || now() - began >= patience)
            throw isUnknown ? isUnsettled(error) : error
          await sleep(RETRY_MS, signal)
        }
      }
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

const isUnsettled = (cause: ServiceError): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `The log did not confirm within ${LIMITS.appendSettleMs} ms that this chat was counted. Repeat it with the same Idempotency-Key: whether it was counted or not, it is then counted once (${cause.message})`,
    cause,
  })
