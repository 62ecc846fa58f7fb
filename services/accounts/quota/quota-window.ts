import type { QuotaWindow } from '../../../contracts/plans.ts'
import { DAY_MS } from '../../../contracts/timeframes.ts'

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
  const inside = window === undefined ? at : Math.min(Math.max(at, window.from), window.to - 1)
  // One text per day: a call is counted more often than a day begins.
  const start = inside - (inside % DAY_MS)
  if (start !== lastDay.start) lastDay = { start, text: new Date(start).toISOString().slice(0, 10) }
  return lastDay.text
}

let lastDay = { start: -1, text: '' }

/** The first instant behind a UTC day, Unix milliseconds. */
export const dayEnd = (day: string): number => Date.parse(day) + DAY_MS
