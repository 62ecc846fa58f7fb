import { isoDay } from '../../../contracts/domain/iso-time.ts'
import { PLAN_LIMITS, type QuotaWindow, type Tier } from '../../../contracts/domain/plans.ts'
import { DAY_MS } from '../../../contracts/domain/timeframes.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import type { ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import type { Revision } from '../../../contracts/infra/event.ts'

/**
 * The window of a caller without a paid plan: the UTC calendar month of an instant.
 *
 * @param at Unix milliseconds
 * @example freeWindow(Date.UTC(2026, 10, 21)).id === '2026-11'
 */
export function freeWindow(at: number): QuotaWindow {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  const id = `${year}-${String(month + 1).padStart(2, '0')}`
  return { id, from: Date.UTC(year, month, 1), to: Date.UTC(year, month + 1, 1) }
}

/**
 * The window of a paid plan: its own period. Plans of one account that begin in the same second share a window.
 *
 * @param from first instant, Unix milliseconds
 * @param to first instant behind it
 * @example planWindow(Date.UTC(2026, 10, 21, 3, 15), …).id === 'plan-20261121T031500Z'
 */
export function planWindow(from: number, to: number): QuotaWindow {
  assert(from < to, 'a window lasts', from)
  const id = `plan-${new Date(from).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
  return { id, from, to }
}

/**
 * The UTC day that a call counts in. A call that was begun in a window belongs to it, so it counts in that
 * window's last day at the latest.
 *
 * @example dayOf(Date.UTC(2026, 10, 21, 23, 59)) === '2026-11-21'
 */
export function dayOf(at: number, window?: QuotaWindow): string {
  return isoDay(window === undefined ? at : Math.min(Math.max(at, window.from), window.to - 1))
}

/** The first instant behind a UTC day, Unix milliseconds. */
export const dayEnd = (day: string): number => Date.parse(day) + DAY_MS

/** The payer of a call, with the window that counts it. */
export interface Payer {
  /** Id of an account, or of an anonymous caller. */
  readonly id: string
  readonly tier: Tier
  readonly window: QuotaWindow
}

/** A payer's use of one window, from the newest event of its stream. */
export interface Balance {
  /** Revision of that event. */
  readonly revision: Revision | 'no-stream'
  /** Calls in the window. */
  readonly used: number
  /** The latest UTC day on which calls were counted, and how many; empty before the first. */
  readonly day: string
  readonly usedToday: number
}

export type DebitEvent = Extract<ServiceEvent, { type: 'QuotaDebited' }>

export const UNUSED: Balance = { revision: 'no-stream', used: 0, day: '', usedToday: 0 }

/** The balance after an event of its stream: every event says it whole. */
export const evolve = ({ revision, data }: DebitEvent): Balance => ({
  revision,
  used: data.used,
  day: data.day,
  usedToday: data.usedToday,
})

export type DebitDecision =
  | { readonly kind: 'debit'; readonly after: Balance }
  | { readonly kind: 'refuse'; readonly exhausted: 'window' | 'day' }

/**
 * Takes one call from a window and from its day, or says which of the two is used up. A `day` before that of the
 * balance counts in the day of the balance, so a process whose clock is slow cannot use a day twice.
 */
export function decideDebit(balance: Balance, tier: Tier, day: string): DebitDecision {
  const { callsPerWindow, callsPerDay } = PLAN_LIMITS[tier]
  const today = onDay(balance, day)
  if (today.used >= callsPerWindow) return { kind: 'refuse', exhausted: 'window' }
  if (callsPerDay !== null && today.usedToday >= callsPerDay) return { kind: 'refuse', exhausted: 'day' }
  const [used, usedToday] = [today.used + 1, today.usedToday + 1]
  assert(usedToday <= used, 'the calls of a day are calls of its window', usedToday)
  assert(used <= callsPerWindow, 'a window has no more calls than its limit', used)
  return { kind: 'debit', after: { ...today, revision: nextRevision(balance), used, usedToday } }
}

/** The balance as it stands on a day: a new day begins with none used. */
export const onDay = (balance: Balance, day: string): Balance =>
  day > balance.day ? { ...balance, day, usedToday: 0 } : balance

const nextRevision = ({ revision }: Balance): Revision => (revision === 'no-stream' ? 0 : revision + 1)
