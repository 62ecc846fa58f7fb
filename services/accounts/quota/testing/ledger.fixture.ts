import { createHash } from 'node:crypto'
import { decodeEvent } from '../../../../contracts/events/event-catalogue.ts'
import {
  createMemoryLog,
  type MemoryLog,
  openMemoryStore,
} from '../../../../testing/memory-store/memory-store.ts'
import type { EventStore } from '../../../log/event-store.ts'
import { createFactIds } from '../../../runtime/ids/fact-id.ts'
import { uuidV8 } from '../../../runtime/ids/uuid.ts'
import { type DebitEvent, freeWindow, type Payer } from '../balance.ts'
import type { Debit } from '../payer-queue.ts'
import { createQuotaLedger, type QuotaLedger, type QuotaLedgerOptions } from '../quota-ledger.ts'
import { logIndex } from './log-index.fixture.ts'

export const NOON = Date.UTC(2026, 10, 21, 12)
export const PAYER: Payer = {
  id: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
  tier: 'free',
  window: freeWindow(NOON),
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A debit whose answer tells it from every other. */
export const aDebit = (answer: string, change: Partial<Debit> & { key?: string } = {}): Debit => {
  const { key, ...rest } = change
  return {
    tool: 'get_trade_call',
    channel: 'http',
    keyId: null,
    requestHash: sha256('the request'),
    idempotencyHash: key === undefined ? null : sha256(key),
    answer: JSON.stringify({ answer }),
    requestId: 'request',
    ...rest,
  }
}

/** A log that several ledgers count in, with a clock that moves only by waiting. */
export interface World {
  readonly log: MemoryLog
  readonly store: EventStore
  now: number
  /** @param change what this ledger has of its own */
  ledger(change?: Partial<QuotaLedgerOptions>): QuotaLedger
  /** Every event of the quota streams, in the order of the log. */
  events(): DebitEvent[]
}

let ids = 0

export function aWorld(): World {
  const log = createMemoryLog()
  const world: World = {
    log,
    now: NOON,
    store: openMemoryStore({ now: () => world.now, log }),
    ledger: (change) =>
      createQuotaLedger({
        store: world.store,
        index: logIndex(log),
        idOf: createFactIds(Buffer.from('secret')),
        newId: () => uuidV8(createHash('sha256').update(`id ${ids++}`).digest()),
        now: () => world.now,
        sleep: async (milliseconds) => {
          world.now += milliseconds
        },
        signal: new AbortController().signal,
        ...change,
      }),
    events: () =>
      log.rows.map((row) => {
        const event = decodeEvent({ ...row, data: JSON.parse(row.data), meta: JSON.parse(row.meta) })
        if (event.type !== 'QuotaDebited') throw new Error(event.type)
        return event
      }),
  }
  return world
}
