import type { Revision } from '../../../contracts/event.ts'
import type { ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { CHATS_PER_WINDOW, type ChatQuota } from '../../../contracts/knowledge-answers.ts'
import type { QuotaWindow, Tier } from '../../../contracts/plans.ts'

/** The account of a chat, and the window in which the chat is counted. */
export interface Chatter {
  /** Id of an account. */
  readonly id: string
  readonly tier: Tier
  readonly window: QuotaWindow
}

export type ChatEvent = Extract<ServiceEvent, { type: 'ChatReserved' | 'ChatAnswered' }>
export type AnsweredEvent = Extract<ServiceEvent, { type: 'ChatAnswered' }>

/** A chat that is being answered. */
export interface Reservation {
  readonly id: string
  readonly idempotencyHash: string | null
  /** When it ends by itself, Unix milliseconds. */
  readonly until: number
}

/** The chats that an account used in one window: the fold of its stream. */
export interface ChatWindow {
  readonly revision: Revision | 'no-stream'
  readonly used: number
  /** Reservations without an answer, expired ones included. */
  readonly reserved: readonly Reservation[]
  /** By idempotency key: the event that used it. */
  readonly keys: ReadonlyMap<string, AnsweredEvent>
}

export const UNUSED: ChatWindow = { revision: 'no-stream', used: 0, reserved: [], keys: new Map() }

/** The window after an event of its stream. */
export function evolve(before: ChatWindow, event: ChatEvent): ChatWindow {
  const { revision } = event
  if (event.type === 'ChatReserved') {
    const { idempotencyHash, until } = event.data
    return { ...before, revision, reserved: [...before.reserved, { id: event.id, idempotencyHash, until }] }
  }
  const { used, reservationId, idempotencyHash } = event.data
  const reserved = before.reserved.filter(({ id }) => id !== reservationId)
  if (idempotencyHash === null) return { ...before, revision, used, reserved }
  return { revision, used, reserved, keys: new Map(before.keys).set(idempotencyHash, event) }
}

/** Reservations that hold a chat at an instant, Unix milliseconds. */
export const openAt = ({ reserved }: ChatWindow, at: number): readonly Reservation[] =>
  reserved.filter(({ until }) => until > at)

/**
 * Whether one more chat is allowed: those that are being answered are as good as used.
 *
 * @param own id of the reservation that is to be ended; its own place is not in its way
 */
export function hasRoom(window: ChatWindow, tier: Tier, at: number, own?: string): boolean {
  const others = openAt(window, at).filter(({ id }) => id !== own)
  return window.used + others.length < CHATS_PER_WINDOW[tier]
}

/** The remaining chats, as callers see them. */
export function chatQuota({ tier, window }: Chatter, { used }: Pick<ChatWindow, 'used'>): ChatQuota {
  const limit = CHATS_PER_WINDOW[tier]
  return { remaining: Math.max(0, limit - used), limit, used, resets_at: isoTime(window.to) }
}
