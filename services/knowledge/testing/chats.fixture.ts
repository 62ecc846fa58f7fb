import { createHash, hash } from 'node:crypto'
import { decodeEvent, type ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { START } from '../../../contracts/infra/position.ts'
import { type ChatPlace, chatKey, chats, rowsInMemory } from '../../../projections/index.ts'
import {
  createMemoryLog,
  type MemoryLog,
  openMemoryStore,
} from '../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'
import { uuidV8 } from '../../runtime/ids/uuid.ts'
import {
  type AnsweredChat,
  type ChatIndex,
  ChatLedger,
  type ChatLedgerOptions,
  type Chatter,
} from '../chats.ts'

type AnsweredEvent = Extract<ServiceEvent, { type: 'ChatAnswered' }>

export const NOON = Date.UTC(2026, 10, 21, 12)
const month = (year: number, index: number, id: string) => ({
  id,
  from: Date.UTC(year, index, 1),
  to: Date.UTC(year, index + 1, 1),
})
/** On free, with ten chats in November. */
export const CHATTER: Chatter = {
  id: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
  tier: 'free',
  window: month(2026, 10, '2026-11'),
}
export const IN_DECEMBER: Chatter = { ...CHATTER, window: month(2026, 11, '2026-12') }

export const sha256 = (text: string): string => hash('sha256', text)

/** A chat whose answer tells it from every other. */
export const aChat = (
  answer: string,
  change: Partial<AnsweredChat> & { key?: string } = {},
): AnsweredChat => {
  const { key, ...rest } = change
  return {
    keyId: '0190a000-0000-7000-8000-00000000000a',
    requestHash: sha256('the question'),
    idempotencyHash: key === undefined ? null : sha256(key),
    requestId: 'request',
    channel: 'http',
    model: 'extractive',
    answer: JSON.stringify({ answer }),
    ...rest,
  }
}

/** A log that several ledgers count in, with a clock that moves only by waiting. */
export interface ChatWorld {
  readonly log: MemoryLog
  readonly store: EventStore
  now: number
  ledger(change?: Partial<ChatLedgerOptions>): ChatLedger
  /** Every event of the chat streams, in the order of the log. */
  events(): AnsweredEvent[]
}

let ids = 0

export function aChatWorld(): ChatWorld {
  const log = createMemoryLog()
  const decoded = () =>
    log.rows.map((row) => decodeEvent({ ...row, data: JSON.parse(row.data), meta: JSON.parse(row.meta) }))
  const world: ChatWorld = {
    log,
    now: NOON,
    store: openMemoryStore({ now: () => world.now, log }),
    ledger: (change) =>
      new ChatLedger({
        store: world.store,
        index: logIndex(log),
        idOf: createFactIds(Buffer.from('secret')),
        newId: () => uuidV8(createHash('sha256').update(`chat ${ids++}`).digest()),
        now: () => world.now,
        sleep: async (milliseconds) => {
          world.now += milliseconds
        },
        signal: new AbortController().signal,
        ...change,
      }),
    events: () => decoded().filter((event) => event.type === 'ChatAnswered'),
  }
  return world
}

/** The read model over a log in memory, folded when it is asked. @param limit how many events it holds at most */
export function logIndex(log: MemoryLog, limit: () => number = () => Number.POSITIVE_INFINITY): ChatIndex {
  const rows = rowsInMemory<ChatPlace>()
  let folded = 0
  function catchUp(): void {
    for (; folded < Math.min(log.rows.length, limit()); folded++) {
      const row = log.rows[folded]
      if (row === undefined) return
      chats.fold(rows, decodeEvent({ ...row, data: JSON.parse(row.data), meta: JSON.parse(row.meta) }))
    }
  }
  return {
    find(payerId, idempotencyHash) {
      catchUp()
      return rows.get(chatKey(payerId, idempotencyHash))
    },
    position() {
      catchUp()
      return folded === 0 ? START : (log.rows[folded - 1]?.position ?? START)
    },
  }
}
