import type { Revision } from '../../contracts/infra/event.ts'
import type { JsonObject } from '../../contracts/infra/json.ts'
import type { Projection, Rows } from '../projection.ts'

/** The place of the call that an idempotency key was used for. Key: {@link debitKey}. */
export interface DebitPlace extends JsonObject {
  readonly window: string
  readonly revision: Revision
  readonly requestHash: string
}

/** Calls of a payer on one UTC day. Key: {@link usageDayPrefix} of the payer, then the day. */
export interface UsageDay extends JsonObject {
  readonly day: string
  readonly calls: number
  readonly tools: Readonly<Record<string, number>>
}

/** @param idempotencyHash hash of the payer's Idempotency-Key */
export const debitKey = (payerId: string, idempotencyHash: string): string =>
  `key/${payerId}/${idempotencyHash}`
export const usageDayPrefix = (payerId: string): string => `day/${payerId}/`

/**
 * Finds a counted call by the Idempotency-Key it came with, whichever window it was counted in, and counts the calls of
 * every payer by day and tool. The calls themselves are in the payers' streams, where they are read from. Both are in
 * one projection because there is a debit for every tool call, and reading it costs more than folding it.
 */
export const debits: Projection<DebitPlace | UsageDay> = {
  name: 'debits',
  version: 1,
  events: ['QuotaDebited'],
  fold(rows, event) {
    if (event.type !== 'QuotaDebited') return
    const { payerId, idempotencyHash, requestHash, window, day, tool } = event.data
    const place = { window: window.id, revision: event.revision, requestHash }
    if (idempotencyHash !== null) rows.put(debitKey(payerId, idempotencyHash), place)
    const key = `${usageDayPrefix(payerId)}${day}`
    const { calls = 0, tools = {} } = (rows as Rows<UsageDay>).get(key) ?? {}
    // A name that every object has is not a count.
    const ofTool = Object.hasOwn(tools, tool) ? (tools[tool] ?? 0) : 0
    rows.put(key, { day, calls: calls + 1, tools: { ...tools, [tool]: ofTool + 1 } })
  },
}

/** The place of the chat that an idempotency key was used for. Key: {@link chatKey}. */
export type ChatPlace = DebitPlace

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
