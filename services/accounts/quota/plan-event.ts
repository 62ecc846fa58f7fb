import type { NewEvent } from '../../../contracts/event.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { type Channel, QuotaDebited, QuotaGranted } from '../../../contracts/quota-events.ts'
import { type Balance, dayOf, decideDebit, decideGrant, type Payer } from './balance.ts'
import { quotaExhausted } from './quota-block.ts'

/** A tool call that was computed and is to be counted. */
export interface Debit {
  readonly tool: string
  readonly channel: Channel
  readonly keyId: string | null
  /** SHA-256 of the tool and its request, hex. */
  readonly requestHash: string
  /** SHA-256 of the payer and its Idempotency-Key, hex. */
  readonly idempotencyHash: string | null
  /** The tool's answer, JSON text. */
  readonly answer: string
  readonly requestId: string
  readonly traceparent?: string | undefined
}

export interface Debited {
  /** The answer that is in the log: the one given, or that of the same key's first call. */
  readonly answer: string
  /** What the payer has used, this call included. */
  readonly balance: Balance
  /** True where the key was used before: nothing was charged. */
  readonly isReplay: boolean
}

/** Something that waits for its place in a payer's stream. */
export interface Waiting {
  readonly payer: Payer
  /** Whose day it counts in: when the call began, Unix milliseconds. */
  readonly at: number
  /** Since when it waits here. */
  readonly since: number
  /** Of its event, over all tries. */
  readonly id: string
  readonly what:
    | { readonly kind: 'debit'; readonly debit: Debit }
    | { readonly kind: 'grant'; readonly calls: number; readonly reason: string; readonly requestId: string }
  resolve(done: Debited): void
  reject(error: unknown): void
}

/** What is to be appended for one that waits, and the balance after it. */
export interface Planned {
  readonly waiting: Waiting
  readonly event: NewEvent
  readonly after: Balance
}

/**
 * The event of one that waits, and the balance after it.
 *
 * @throws ServiceError `quota_exhausted`
 */
export function planEvent(
  waiting: Waiting,
  balance: Balance,
  payPerCall: (tool: string) => string | undefined,
): Planned {
  const { payer, at, id, what } = waiting
  const { id: payerId, tier, window } = payer
  const day = dayOf(at, window)
  if (what.kind === 'grant') {
    const after = decideGrant(balance, what.calls, day)
    const { used, usedToday, granted } = after
    const { calls, reason, requestId } = what
    const data = { payerId, window, calls, reason, day: after.day, used, usedToday, granted }
    const meta = { correlationId: requestId, actor: 'operator' }
    return { waiting, after, event: newEvent(QuotaGranted, { id, data, meta }) }
  }
  const decision = decideDebit(balance, tier, day)
  const { requestId, traceparent, ...debit } = what.debit
  if (decision.kind === 'refuse') {
    throw quotaExhausted(payer, balance, decision.exhausted, at, payPerCall(debit.tool))
  }
  const { after } = decision
  const { used, usedToday, granted } = after
  const data = { payerId, window, day: after.day, ...debit, used, usedToday, granted }
  const meta = { correlationId: requestId, actor: 'calls', ...(traceparent && { traceparent }) }
  return { waiting, after, event: newEvent(QuotaDebited, { id, data, meta }) }
}
