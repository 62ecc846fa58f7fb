import type { JsonObject } from '../../contracts/json.ts'
import type { Channel } from '../../contracts/quota-events.ts'

import type { Projection, Rows } from '../projection.ts'

/** A counted call. Key: {@link usageDebitPrefix} of its payer, then its time, window and revision. */
export interface UsageDebit extends JsonObject {
  /** When it was counted, ISO 8601. */
  readonly at: string
  readonly window: string
  readonly tool: string
  readonly channel: Channel
  readonly keyId: string | null
  readonly requestHash: string
  /** Calls used in the window, this one included. */
  readonly used: number
}

/** What a payer used on one UTC day. Key: {@link usageDayPrefix} of the payer, then the day. */
export interface UsageDay extends JsonObject {
  readonly day: string
  readonly calls: number
  /** By tool. */
  readonly tools: Readonly<Record<string, number>>
}

export const usageDebitPrefix = (payerId: string): string => `debit/${payerId}/`
export const usageDayPrefix = (payerId: string): string => `day/${payerId}/`

/** Wide enough for any revision of a stream, so that keys sort as numbers do. */
const REVISION_DIGITS = 9

/** What every payer used: each call, and the calls of each day by tool. */
export const usage: Projection<UsageDebit | UsageDay> = {
  name: 'usage',
  version: 1,
  changes: 'rows',
  events: ['QuotaDebited'],
  fold(rows, event) {
    if (event.type !== 'QuotaDebited') return
    const { payerId, window, day, tool, channel, keyId, requestHash, used } = event.data
    const place = `${window.id}/${String(event.revision).padStart(REVISION_DIGITS, '0')}`
    rows.put(`${usageDebitPrefix(payerId)}${event.at}/${place}`, {
      at: event.at,
      window: window.id,
      tool,
      channel,
      keyId,
      requestHash,
      used,
    })
    countDay(rows as Rows<UsageDay>, `${usageDayPrefix(payerId)}${day}`, day, tool)
  },
}

function countDay(rows: Rows<UsageDay>, key: string, day: string, tool: string): void {
  const before = rows.get(key)
  const tools = before?.tools ?? {}
  // A name that every object has is not a count.
  const ofTool = Object.hasOwn(tools, tool) ? (tools[tool] ?? 0) : 0
  rows.put(key, { day, calls: (before?.calls ?? 0) + 1, tools: { ...tools, [tool]: ofTool + 1 } })
}
