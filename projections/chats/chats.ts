import type { Revision } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection } from '../projection.ts'

/** The place of the chat that an idempotency key was used for. Key: {@link chatKey}. */
export interface ChatPlace extends JsonObject {
  readonly window: string
  readonly revision: Revision
  readonly requestHash: string
}

/** @param idempotencyHash hash of the payer's Idempotency-Key */
export const chatKey = (payerId: string, idempotencyHash: string): string => `${payerId}/${idempotencyHash}`

/** Finds an answered chat by the Idempotency-Key it came with, whichever window it was counted in. */
export const chats: Projection<ChatPlace> = {
  name: 'chats',
  version: 1,
  events: ['ChatAnswered'],
  fold(rows, event) {
    if (event.type !== 'ChatAnswered') return
    const { payerId, idempotencyHash, requestHash, window } = event.data
    if (idempotencyHash === null) return
    rows.put(chatKey(payerId, idempotencyHash), { window: window.id, revision: event.revision, requestHash })
  },
}
