import type { PaymentChain } from '../../../contracts/domain/chain.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors/errors.ts'
import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Leases } from '../../log/leases/leases.ts'
import type { ProjectionReader } from '../../log/projector/projector.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { waitAtMost } from '../../runtime/async/wake-signal.ts'
import type { Chain } from '../chain/chain.ts'
import { createPaymentLog, evolvePayment, type Payment } from '../payment.ts'
import {
  type OpenPayment,
  openPayments,
  PAYABLE_PREFIX,
  type PaymentsRow,
  paymentRowKey,
} from '../payments-projection.ts'
import { createDuePayments } from './due-payments.ts'
import type { Facilitator } from './facilitator.ts'
import { createSettlement } from './settle-payment.ts'

/** Waits of the settler, milliseconds. {@link LIMITS} explains each. */
const SETTLEMENT_TIMING = {
  retryMs: LIMITS.settlementRetryMs,
  retryMaxMs: LIMITS.settlementRetryMaxMs,
  pendingMs: LIMITS.settlementPendingMs,
}

export interface SettlerOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly on: PaymentChain
  readonly store: EventStore
  /** The read model of payments, caught up when {@link Settler.run} is called. */
  readonly reader: Pick<ProjectionReader<PaymentsRow>, 'get' | 'range' | 'health'>
  /** Decides what became of payments on the direct rail. Undefined if no node is configured. */
  readonly chain?: Chain | undefined
  /** Submits payments of the direct rail. */
  readonly facilitator?: Facilitator | undefined
  /** Settles payments of the gateway rail. */
  readonly gateway?: Facilitator | undefined
  /** Shares the work with other processes: one settles at a time. Without it, this is the only one. */
  readonly leases?: Leases | undefined
  /**
   * Called with a payment for an account whose money is there: before that is recorded, and after a failure or a crash
   * once more, so it must do what it does once however often it is called.
   */
  readonly onPaid: (payment: Payment) => Promise<void>
  readonly newId: () => string
  /** Milliseconds that only grow; by default those of this process. */
  readonly elapsed?: () => number
  /** Called with what an operator should know. Holds no secrets. */
  readonly report: (event: string, details: Readonly<Record<string, string | number>>) => void
  readonly timing?: Partial<Record<keyof typeof SETTLEMENT_TIMING, number>>
}

export interface SettlerHealth {
  readonly ok: boolean
  readonly detail: string
  /** Payments that are not at their end. */
  readonly open: number
  /** Age of the oldest payment that is served and not settled, milliseconds. */
  readonly oldestOpenMs: number
  /** Payments of which it is not known whether they are settled. */
  readonly unknown: number
  /**
   * When the oldest payment was claimed that could be settled and is not, Unix milliseconds; undefined if there is
   * none. From the log: also reported if another process settles, or none.
   */
  readonly payableSince: number | undefined
}

/**
 * Makes claims money: follows the log, has what is owed settled, and checks that its block is final. Everything it
 * decides is in the log before it acts on it, so a crash at any point is followed by the same work again, and the
 * token's own nonce sees to it that no authorization is used twice.
 *
 * @example
 * const settler = createSettler({ store, reader, chain, facilitator, onPaid, newId, now: Date.now, sleep, report })
 * await settler.run(signal)
 */
export interface Settler {
  /** Works until the signal; resolves when what it had begun has come to a safe place. Never rejects. */
  run(signal: AbortSignal): Promise<void>
  health(): SettlerHealth
}

/** How often facilitators are asked whether they can be used; while something is in trouble, after so many shortest waits. */
const CHECK_MS = 60_000
const TROUBLE_WAITS = 5
const RESTART_MS = 1_000
/** Without a payment the loop sleeps until one is added. */
const IDLE_MS = 3_600_000

// oxlint-disable-next-line max-lines-per-function -- the loop, its troubles and its health are about the same payments
export function createSettler(options: SettlerOptions): Settler {
  const { on, store, reader, chain, facilitator, gateway, leases, now, sleep, report } = options
  const elapsed = options.elapsed ?? (() => performance.now())
  const timing: Readonly<Record<keyof typeof SETTLEMENT_TIMING, number>> = {
    ...SETTLEMENT_TIMING,
    ...options.timing,
  }
  const troubleMs = TROUBLE_WAITS * timing.retryMs
  const payments = createDuePayments({ ...timing, elapsed, atOnce: LIMITS.settlementsAtOnce })
  /** Current problems, by the part that has them; and payments that could not be worked on. */
  const problems = new Map<string, string>()
  const failing = new Map<string, string>()
  let isWorking = false
  let isOwnChain = false

  /** Keeps a problem for the health report, and reports it when it begins, changes or ends. */
  function setProblem(part: string, problem: string | undefined): void {
    if (problems.get(part) === problem) return
    if (problem === undefined) problems.delete(part)
    else problems.set(part, problem)
    report('settlement_trouble', { who: part, what: problem ?? 'none any more' })
  }

  function noteFailure(stream: string, error: unknown): void {
    if (error === undefined) failing.delete(stream)
    else
      failing.set(stream, isServiceError(error) ? error.message : ((error as Error).stack ?? reasonOf(error)))
    setProblem('payments', failing.values().next().value)
  }

  /** A node of another chain would find every authorization unused. */
  async function requireOwnChain(): Promise<void> {
    if (isOwnChain || chain === undefined) return
    const id = await chain.chainId()
    isOwnChain = id === on.id
    if (isOwnChain) return
    throw new ServiceError('payments_unavailable', {
      message: `The node is of chain ${id}, and payments are on chain ${on.id}: nothing is settled`,
    })
  }

  async function work(signal: AbortSignal): Promise<void> {
    const log = createPaymentLog({ ...options, signal })
    const settle = createSettlement({ ...options, ...timing, chain, facilitator, gateway, log, signal })
    const settleOne = async ({ stream, rail }: Payment): Promise<void> => {
      try {
        if (rail === 'direct') await requireOwnChain()
        const loaded = await settle(stream)
        noteFailure(stream, undefined)
        // Another process has written to it.
        if (loaded === undefined) payments.putBackUntouched(stream, timing.retryMs)
        else payments.putBack(loaded.payment)
      } catch (error) {
        if (!signal.aborted) noteFailure(stream, error)
        // The node or the log is away: it may be late when they are there again.
        payments.putBackUntouched(stream, troubleMs)
      }
    }
    const running = new Set<Promise<void>>()
    while (!signal.aborted) {
      const seen = payments.changed.count
      const { taken, nextInMs } = payments.take()
      for (const payment of taken) {
        const one: Promise<void> = settleOne(payment).finally(() => running.delete(one))
        running.add(one)
      }
      await waitAtMost(Math.min(nextInMs, IDLE_MS), payments.changed, seen, { sleep, signal })
    }
    await Promise.all(running)
  }

  /** Adds every payment that is not at its end: those of the past from the read model, then those that come. */
  async function followClaims(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        // Before its rows are read: what is folded meanwhile is met twice, and nothing is missed.
        const after = reader.health().position
        for (const paymentId of openPayments(reader)) {
          const payment = reader.get(paymentRowKey(paymentId))
          if (payment !== undefined && 'stream' in payment) payments.add(payment as Payment)
        }
        for await (const item of store.subscribe({ after, filter: { types: ['PaymentClaimed'] }, signal })) {
          setProblem('log', undefined)
          const payment =
            item.kind === 'event' ? evolvePayment(undefined, decodeEvent(item.event)) : undefined
          if (payment !== undefined) payments.add(payment)
        }
      } catch (error) {
        setProblem('log', reasonOf(error))
        await sleep(RESTART_MS, signal)
      }
    }
  }

  /** Asks a facilitator again and again whether it can be used: a problem is reported before somebody has paid in vain. */
  async function watch(part: string, asked: Facilitator | undefined, signal: AbortSignal): Promise<void> {
    if (asked === undefined) return
    while (!signal.aborted) {
      const problem = await asked.problem(signal).catch(reasonOf)
      if (!signal.aborted) setProblem(part, problem)
      await sleep(problems.has(part) ? troubleMs : CHECK_MS, signal)
    }
  }

  async function settleAll(signal: AbortSignal): Promise<void> {
    isWorking = true
    await Promise.all([
      followClaims(signal),
      work(signal),
      watch('facilitator at /supported', facilitator, signal),
      watch('gateway at /supported', gateway, signal),
    ])
    payments.clear()
    failing.clear()
    // The next process that settles has problems of its own.
    for (const part of problems.keys()) setProblem(part, undefined)
    isWorking = false
  }

  /** Settles while this process holds the lease; when it is lost, the work has stopped before another process has it. */
  async function settleLeased(held: Leases, signal: AbortSignal): Promise<void> {
    let ending = new AbortController()
    let done: Promise<void> | undefined
    const gained = async (): Promise<void> => {
      ending = new AbortController()
      done = settleAll(ending.signal)
    }
    const lost = async (): Promise<void> => {
      ending.abort()
      await done
    }
    while (!signal.aborted) {
      try {
        await held.run({ gained, lost }, signal)
      } catch (error) {
        setProblem('lease', reasonOf(error))
        await sleep(RESTART_MS, signal)
      } finally {
        await lost()
      }
    }
  }

  function payableSince(): number | undefined {
    const [oldest] = reader.range({ prefix: PAYABLE_PREFIX, limit: 1 })
    if (oldest === undefined) return undefined
    const payment = reader.get(paymentRowKey((oldest.row as OpenPayment).paymentId)) as Payment | undefined
    return payment?.claimedAtMs
  }

  function detail(lateSince: number | undefined): string {
    const parts = [...problems].map(([part, problem]) => `${part}: ${problem.split('\n')[0]}`)
    if (lateSince !== undefined)
      parts.push(`a payment that could be settled has waited since ${isoTime(lateSince)}`)
    if (facilitator === undefined || chain === undefined) parts.push('nobody settles payments on the chain')
    if (!isWorking) parts.push('not settling in this process at the moment')
    return parts.length === 0 ? 'settling' : parts.join('; ')
  }

  return {
    run: (signal) => (leases === undefined ? settleAll(signal) : settleLeased(leases, signal)),
    health() {
      const since = payableSince()
      const lateSince = since !== undefined && now() - since >= LIMITS.settlementLateMs ? since : undefined
      return {
        ok: problems.size === 0 && lateSince === undefined,
        detail: detail(lateSince),
        payableSince: since,
        ...payments.totals(now()),
      }
    },
  }
}
