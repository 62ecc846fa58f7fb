import type { Revision } from '../../contracts/event.ts'
import type { JsonObject } from '../../contracts/json.ts'
import type { Projection } from '../projection.ts'

/** Where the call is that an idempotency key was used for. Key: {@link debitKey}. */
export interface DebitPlace extends JsonObject {
  /** Id of the quota window, whose stream it is in. */
  readonly window: string
  readonly revision: Revision
  readonly requestHash: string
}

/** @param idempotencyHash hash of the payer's Idempotency-Key */
export const debitKey = (payerId: string, idempotencyHash: string): string => `${payerId}/${idempotencyHash}`

/**
 * Finds a counted call by the Idempotency-Key it came with, whichever window it was counted in. It is apart
 * from the usage, so that what keeps a call from being counted twice depends on nothing else.
 */
export const debitIndex: Projection<DebitPlace> = {
  name: 'debit_index',
  version: 1,
  changes: 'rows',
  events: ['QuotaDebited'],
  fold(rows, event) {
    if (event.type !== 'QuotaDebited') return
    const { payerId, idempotencyHash, requestHash, window } = event.data
    if (idempotencyHash === null) return
    rows.put(debitKey(payerId, idempotencyHash), { window: window.id, revision: event.revision, requestHash })
  },
}
