import { assert } from '../../../contracts/assert.ts'
import { reasonOf } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { SettlerKind, UncollectableReason } from '../../../contracts/payment-events.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { createWakeSignal, type WakeSignal, waitAtMost } from '../../runtime/async/wake-signal.ts'
import type { LoadedPayment } from '../loaded-payment.ts'
import { isAwaited, isOpen, isPayable, isUnsettled, type Payment } from '../state/payment-state.ts'
import type { Arrival } from './decide-settlement.ts'
import { createPaymentSchedule, type PaymentSchedule } from './payment-schedule.ts'
import type { SettlementFact, SettlementLog } from './settlement-log.ts'
import type { SettlementTiming } from './settlement-timing.ts'

/** The worker of a payment: our wallet or a facilitator, the gateway, or the finality watch. */
export const STAGES = ['direct', 'gateway', 'finality'] as const
export type Stage = (typeof STAGES)[number]

export interface PaymentQueueOptions extends Clock {
  readonly log: SettlementLog
  readonly timing: SettlementTiming
  /** Told of a payment for an account whose money is there. @see SettlerOptions.onPaid */
  readonly onPaid: (payment: Payment) => Promise<void>
  /** Whether there is a node that tells when a block is final. */
  readonly hasChain: boolean
  readonly report: (event: string, details: Readonly<Record<string, string | number>>) => void
}

export interface QueueTotals {
  readonly open: number
  /** Age of the oldest payment that is served and not settled, milliseconds. */
  readonly oldestOpenMs: number
  readonly unknown: number
}

export type PaymentQueue = ReturnType<typeof createPaymentQueue>

interface Entry {
  payment: Payment
  stage: Stage
  /** Looks in a row that brought nothing new. */
  failures: number
  /** When it is looked at next, in elapsed time. */
  at: number
  isPlanned: boolean
  isTold: boolean
  isIsolated: boolean
}

/** An empty stage sleeps until a payment is added. */
const IDLE_MS = 3_600_000

const stageOf = ({ state, rail }: Payment): Stage => {
  if (state === 'confirmed') return 'finality'
  return rail === 'gateway' ? 'gateway' : 'direct'
}

// oxlint-disable-next-line max-lines-per-function -- taking, keeping and giving back a payment change one queue
export function createPaymentQueue(options: PaymentQueueOptions) {
  const { log, timing, now, elapsed, sleep, onPaid, hasChain, report } = options
  const entries = new Map<string, Entry>()
  const stages = Object.fromEntries(
    STAGES.map((stage) => [stage, { schedule: createPaymentSchedule(), added: createWakeSignal(), seen: 0 }]),
  ) as Record<Stage, { schedule: PaymentSchedule; added: WakeSignal; seen: number }>

  /** Open payments of a payer in a stage, in the order in which they came to it; what is answered holds up no caller. */
  const lines = new Map<string, Set<Entry>>()
  const lineOf = ({ stage, payment: { payer, isServedFirst } }: Entry): string =>
    `${stage} ${isServedFirst} ${payer}`

  function plan(entry: Entry, at: number): void {
    entry.isPlanned = true
    entry.at = at
    // A payer has one payment in front. One that the token refuses comes behind those that can be settled. Both hold
    // however many there are of them.
    const [front] = lines.get(lineOf(entry)) ?? []
    const isFirst = entry === front && isPayable(entry.payment)
    stages[entry.stage].schedule.put(entry.payment.stream, at, isFirst ? 'first' : 'later')
    stages[entry.stage].added.notify()
  }

  function enter(entry: Entry, at: number): void {
    const line = lines.get(lineOf(entry)) ?? new Set()
    lines.set(lineOf(entry), line.add(entry))
    plan(entry, at)
  }

  /** A payment leaves its stage. Only a payer whose money came has the next one in front: others would cost nothing. */
  function leave(entry: Entry): void {
    stages[entry.stage].schedule.delete(entry.payment.stream)
    const line = lines.get(lineOf(entry))
    line?.delete(entry)
    if (line?.size === 0) lines.delete(lineOf(entry))
    const [next] = line ?? []
    if (next?.isPlanned === true && entry.payment.state === 'confirmed') plan(next, next.at)
  }

  /**
   * How long a new payment is left alone. A client that lost its answer sends the same payment again within seconds, and
   * until the settlement nobody else can have read it. A caller that waits for the settlement has no answer to lose, and
   * comes before those that were answered and are due for no longer than a request waits.
   */
  function restOf({ isServedFirst, state, claimedAtMs }: Payment): number {
    if (state !== 'owed') return 0
    if (!isServedFirst) return -LIMITS.settlementWaitMs
    return Math.min(timing.restMs, Math.max(0, claimedAtMs + timing.restMs - now()))
  }

  /** Takes note of a payment's newest state; true where the same stage goes on with it. */
  function note(payment: Payment): boolean {
    const { stream } = payment
    const entry = entries.get(stream)
    if (!isOpen(payment)) {
      if (entry !== undefined) {
        entry.payment = payment
        leave(entry)
      }
      entries.delete(stream)
      return false
    }
    const stage = stageOf(payment)
    if (entry === undefined) {
      const added = { payment, stage, failures: 0, at: 0, isPlanned: false, isTold: false, isIsolated: false }
      entries.set(stream, added)
      enter(added, elapsed() + restOf(payment))
      return true
    }
    const wasPayable = isPayable(entry.payment)
    entry.payment = payment
    if (entry.stage === stage) {
      if (entry.isPlanned && wasPayable !== isPayable(payment)) plan(entry, entry.at)
      return true
    }
    leave(entry)
    entry.stage = stage
    entry.failures = 0
    enter(entry, elapsed())
    return false
  }

  const queue = {
    /** Takes those off a stage whose time has come; what becomes of them must put them back. */
    take(stage: Stage, most: number): string[] {
      const streams = stages[stage].schedule.take(elapsed(), most)
      for (const stream of streams) {
        const entry = entries.get(stream)
        if (entry !== undefined) entry.isPlanned = false
      }
      return streams
    },
    /** Sleeps until the next of a stage is due, one is added, or the signal is aborted. */
    async wait(stage: Stage, signal: AbortSignal): Promise<void> {
      const own = stages[stage]
      await waitAtMost(own.schedule.nextIn(elapsed()) ?? IDLE_MS, own.added, own.seen, { sleep, signal })
      own.seen = own.added.count
    },
    /** Adds a payment, to be looked at now, or once its answer has had time to arrive; one that is known stays as it is. */
    track(payment: Payment): void {
      if (!entries.has(payment.stream)) note(payment)
    },
    /** Reads a payment that may have been ended and is not: somebody has found its money. */
    async revive(stream: string, signal: AbortSignal): Promise<void> {
      const loaded = await log.load(stream, signal)
      if (loaded !== undefined) note(loaded.payment)
    },
    /** Reads a payment; undefined where it has ended or is another stage's by now, and then it stands there. */
    async load(stream: string, stage: Stage, signal: AbortSignal): Promise<LoadedPayment | undefined> {
      const loaded = await log.load(stream, signal)
      if (loaded === undefined) return undefined
      note(loaded.payment)
      return entries.get(stream)?.stage === stage ? loaded : undefined
    },
    /** Records what happened and puts the payment in its next stage. @returns undefined where it must be read again */
    async record(
      loaded: LoadedPayment,
      facts: readonly SettlementFact[],
      signal: AbortSignal,
    ): Promise<LoadedPayment | undefined> {
      const recorded = await log.record(loaded, facts, signal)
      if (recorded === undefined) queue.after(loaded.stream, 0)
      else note(recorded.payment)
      return recorded
    },
    /** Tells whom it concerns, then records that the money is there: the other way round a crash could lose the telling. */
    async confirm(loaded: LoadedPayment, arrival: Arrival, signal: AbortSignal): Promise<void> {
      assert(isOpen(loaded.payment), 'money is confirmed of a payment that is open', loaded.payment.state)
      const isTold = await queue.notifyPaid(loaded.payment)
      const { transaction, blockNumber } = arrival
      // Without a block there is nothing to wait for: nobody would say when it is final.
      const isFinal = isTold && blockNumber === null && (!hasChain || loaded.payment.rail === 'gateway')
      const facts: SettlementFact[] = [{ type: 'SettlementConfirmed', data: arrival }]
      if (isFinal) facts.push({ type: 'SettlementFinalised', data: { transaction, blockNumber } })
      await queue.record(loaded, facts, signal)
    },
    /** Tells whom it concerns once more, unless that has worked in this process. @returns whether it has */
    async notifyPaid(payment: Payment): Promise<boolean> {
      const entry = entries.get(payment.stream)
      if (payment.accountId === null || entry?.isTold === true) return true
      try {
        await onPaid(payment)
        if (entry !== undefined) entry.isTold = true
        return true
      } catch (error) {
        report('payment_not_told', { paymentId: payment.paymentId, reason: reasonOf(error) })
        return false
      }
    },
    async uncollectable(
      loaded: LoadedPayment,
      { reason, detail }: { readonly reason: UncollectableReason; readonly detail: string },
      signal: AbortSignal,
    ): Promise<void> {
      assert(isAwaited(loaded.payment), 'only money that is awaited is given up', loaded.payment.state)
      const data = { reason, detail: detail.slice(0, 200) }
      const recorded = await queue.record(loaded, [{ type: 'PaymentUncollectable', data }], signal)
      const { paymentId, payer, value } = loaded.payment
      if (recorded !== undefined) report('payment_uncollectable', { paymentId, payer, value, reason })
    },
    /** Records once that an attempt came to nothing for a reason that may pass, and looks again later. */
    async refused(
      loaded: LoadedPayment,
      settler: SettlerKind,
      text: string,
      signal: AbortSignal,
    ): Promise<void> {
      const { state, attempts } = loaded.payment
      const reason = text.slice(0, 200)
      const failed = (attempt: number): SettlementFact => ({
        type: 'SettlementFailed',
        data: { attempt, reason },
      })
      queue.again(loaded.stream)
      // The same refusal again is nothing new, nor is one in ever other words: neither must fill the log.
      if (state === 'owed' && loaded.lastReason === reason) return
      if (loaded.reasons >= LIMITS.settlementReasons && (state === 'owed' || state === 'unknown')) return
      const attempt = attempts + 1
      const facts: SettlementFact[] =
        state === 'owed'
          ? [{ type: 'SettlementRequested', data: { attempt, settler } }, failed(attempt)]
          : [failed(attempts)]
      await queue.record(loaded, facts, signal)
    },
    /** Looks again in so many milliseconds. */
    after(stream: string, milliseconds: number): void {
      const entry = entries.get(stream)
      if (entry !== undefined) plan(entry, elapsed() + milliseconds)
    },
    /** Looks again, later than the last time. */
    again(stream: string): void {
      const entry = entries.get(stream)
      if (entry === undefined) return
      const wait = Math.min(timing.retryMs * 2 ** Math.min(entry.failures, 20), timing.retryMaxMs)
      entry.failures += 1
      plan(entry, elapsed() + wait)
    },
    /** To be sent in a transaction of its own from now on. */
    isolate(stream: string): void {
      const entry = entries.get(stream)
      if (entry !== undefined) entry.isIsolated = true
    },
    isIsolated: (stream: string): boolean => entries.get(stream)?.isIsolated === true,
    /** Puts those back that nobody has put anywhere, `afterMs` from now or later than the last time: none is ever forgotten. */
    putBack(streams: readonly string[], afterMs?: number): void {
      for (const stream of streams) {
        if (entries.get(stream)?.isPlanned !== false) continue
        if (afterMs === undefined) queue.again(stream)
        else queue.after(stream, afterMs)
      }
    },
    totals(): QueueTotals {
      let [oldest, unknown] = [now(), 0]
      for (const { payment } of entries.values()) {
        if (isUnsettled(payment)) oldest = Math.min(oldest, payment.claimedAtMs)
        if (payment.state === 'unknown') unknown += 1
      }
      return { open: entries.size, oldestOpenMs: Math.max(0, now() - oldest), unknown }
    },
    clear(): void {
      for (const [stream, { stage }] of entries) stages[stage].schedule.delete(stream)
      entries.clear()
      lines.clear()
    },
  }
  return queue
}
