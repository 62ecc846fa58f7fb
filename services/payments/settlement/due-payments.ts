import type { Rail } from '../../../contracts/events/payment-events.ts'
import { createWakeSignal } from '../../runtime/async/wake-signal.ts'
import { isOpen, isUnsettled, type Payment } from '../payment.ts'

export interface DuePaymentsOptions {
  /** Milliseconds that only grow. */
  readonly elapsed: () => number
  /** Wait before a payment is tried again; it doubles from try to try, up to the longest. */
  readonly retryMs: number
  readonly retryMaxMs: number
  /** Payments of one rail that are worked on at a time. */
  readonly atOnce: number
}

interface Entry {
  payment: Payment
  dueAt: number
  /** Tries in a row that did not bring the payment further. */
  failures: number
  isRunning: boolean
}

/** Payments that are not at their end, by the time when each is worked on next. */
export function createDuePayments({ elapsed, retryMs, retryMaxMs, atOnce }: DuePaymentsOptions) {
  const entries = new Map<string, Entry>()
  const changed = createWakeSignal()
  const running: Record<Rail, number> = { direct: 0, gateway: 0 }

  function release(entry: Entry): void {
    running[entry.payment.rail] -= Number(entry.isRunning)
    entry.isRunning = false
    changed.notify()
  }

  return {
    changed,
    /** Adds a payment, due now; one that is known stays as it is. */
    add(payment: Payment): void {
      if (!isOpen(payment) || entries.has(payment.stream)) return
      entries.set(payment.stream, { payment, dueAt: elapsed(), failures: 0, isRunning: false })
      changed.notify()
    },
    /** Takes those that are due, the earliest first. Each has to be put back. */
    take(): { readonly taken: readonly Payment[]; readonly nextInMs: number } {
      const now = elapsed()
      const due: Entry[] = []
      let next = Number.POSITIVE_INFINITY
      for (const entry of entries.values()) {
        if (entry.isRunning || running[entry.payment.rail] >= atOnce) continue
        if (entry.dueAt <= now) due.push(entry)
        else next = Math.min(next, entry.dueAt - now)
      }
      due.sort((one, other) => one.dueAt - other.dueAt)
      const taken: Payment[] = []
      for (const entry of due) {
        if (running[entry.payment.rail] >= atOnce) continue
        entry.isRunning = true
        running[entry.payment.rail] += 1
        taken.push(entry.payment)
      }
      return { taken, nextInMs: next }
    },
    /** Puts a payment back after work on it: later than the last time, unless its money has just come. */
    putBack(payment: Payment): void {
      const { stream } = payment
      const entry = entries.get(stream)
      if (entry === undefined) return
      const isNewlyConfirmed = payment.state === 'confirmed' && entry.payment.state !== 'confirmed'
      release(entry)
      if (!isOpen(payment)) return void entries.delete(stream)
      entry.payment = payment
      entry.failures = isNewlyConfirmed ? 0 : entry.failures + 1
      const waitMs = Math.min(retryMs * 2 ** Math.min(entry.failures - 1, 20), retryMaxMs)
      entry.dueAt = elapsed() + (isNewlyConfirmed ? 0 : waitMs)
    },
    /** Puts a payment back that nothing was done about; it is tried again in so many milliseconds. */
    putBackUntouched(stream: string, waitMs: number): void {
      const entry = entries.get(stream)
      if (entry === undefined) return
      release(entry)
      entry.dueAt = elapsed() + waitMs
    },
    /** @param now Unix milliseconds */
    totals(now: number) {
      let [oldest, unknown] = [now, 0]
      for (const { payment } of entries.values()) {
        if (isUnsettled(payment)) oldest = Math.min(oldest, payment.claimedAtMs)
        unknown += Number(payment.state === 'unknown')
      }
      return { open: entries.size, oldestOpenMs: Math.max(0, now - oldest), unknown }
    },
    clear: (): void => entries.clear(),
  }
}
