import type { PaymentChain } from '../../../contracts/chain.ts'
import { isServiceError, reasonOf, ServiceError } from '../../../contracts/errors.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Leases } from '../../log/leases/leases.ts'
import type { ProjectionReader } from '../../log/projector/projector.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { SettlementChain } from '../chain/chain.ts'
import { type Payment } from '../state/payment-state.ts'
import { type OpenPayment, PAYABLE_PREFIX, type PaymentsRow, paymentRowKey } from '../state/payments.ts'
import type { Facilitator } from './facilitator.ts'
import { createFinalityWatch, FINALITY_PAYMENTS } from './finality-watch.ts'
import { followClaims } from './follow-claims.ts'
import { createForwardedSettlement } from './forwarded-settlement.ts'
import { createGasGuard } from './gas-guard.ts'
import { createOwnSettlement, firstReason } from './own-settlement.ts'
import { createPaymentQueue, type Stage } from './payment-queue.ts'
import { createSettlementLog } from './settlement-log.ts'
import { SETTLEMENT_TIMING, type SettlementTiming } from './settlement-timing.ts'
import type { Wallet } from './wallet.ts'
import { workWhileLeased } from './work-while-leased.ts'

export interface SettlerOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly on: PaymentChain
  readonly store: EventStore
  /** The read model of payments, caught up when {@link Settler.run} is called. */
  readonly reader: Pick<ProjectionReader<PaymentsRow>, 'get' | 'range' | 'health'>
  /** Undefined where no node is configured; then a facilitator settles, and is believed. */
  readonly chain?: SettlementChain | undefined
  /** Settles payments on the chain: a wallet of our own, which needs the chain, or a facilitator; or nobody. */
  readonly wallet?: Wallet | undefined
  readonly facilitator?: Facilitator | undefined
  /** Settles payments of the gateway rail. */
  readonly gateway?: Facilitator | undefined
  /** Shares the work with other processes: one settles at a time. Without it, this is the only one. */
  readonly leases?: Leases | undefined
  /**
   * Told of a payment with an account whose money is there: before that is recorded, and after a failure or a crash
   * once more, so it must do what it does once however often it is called.
   */
  readonly onPaid: (payment: Payment) => Promise<void>
  /** Authorizations that share a transaction of our wallet. */
  readonly batch?: number
  /** Most that is paid for a unit of gas, in wei. */
  readonly maxFeePerGas?: bigint
  readonly newId: () => string
  /** Elapsed time, milliseconds, which nobody sets; by default that of this process. */
  readonly elapsed?: () => number
  /** Told what an operator should know. Holds no secrets. */
  readonly report: (event: string, details: Readonly<Record<string, string | number>>) => void
  readonly timing?: Partial<SettlementTiming>
}

export interface SettlerHealth {
  readonly ok: boolean
  readonly detail: string
  /** The gas wallet's balance at the last look, in wei. */
  readonly gasBalance?: bigint
  /** Payments that are not at their end. */
  readonly open: number
  /** Age of the oldest payment that is served and not settled, milliseconds. */
  readonly oldestOpenMs: number
  /** Payments of which it is not known whether they are settled. */
  readonly unknown: number
  /**
   * When the oldest payment was claimed that could be settled and is not, Unix milliseconds; undefined where there is
   * none. From the log: also told where another process settles, or none.
   */
  readonly payableSince: number | undefined
}

/**
 * Makes claims money: follows the log, settles what is owed, watches what is settled until it is final. Everything
 * it decides is in the log before it acts on it, so a crash at any point is followed by the same work again, and the
 * token's own nonce sees to it that no authorization is used twice.
 *
 * @example
 * const settler = createSettler({ store, reader, chain, wallet, onPaid, newId, now: Date.now, sleep, report })
 * await settler.run(signal)
 */
export interface Settler {
  /** Works until the signal; resolves when what it had begun has come to a safe place. Never rejects. */
  run(signal: AbortSignal): Promise<void>
  health(): SettlerHealth
}

/** How often the gas wallet and facilitators are looked at; while one or the node is in trouble, after so many shortest waits. */
const CHECK_MS = 60_000
const TROUBLE_WAITS = 5
const RESTART_MS = 1_000

// oxlint-disable-next-line max-lines-per-function -- the steps of a settlement share its queue, its timers and what is under way
export function createSettler(options: SettlerOptions): Settler {
  const { on, store, reader, chain, wallet, facilitator, gateway, leases, now, sleep, report } = options
  const elapsed = options.elapsed ?? (() => performance.now())
  const timing = { ...SETTLEMENT_TIMING, ...options.timing }
  const log = createSettlementLog(options)
  const queue = createPaymentQueue({ ...options, elapsed, log, timing, hasChain: chain !== undefined })
  /** Current problems, by the part that has them. */
  const problems = new Map<string, string>()
  let isWorking = false
  let isOwnChain = false
  const gas = createGasGuard({
    maxFeePerGas: options.maxFeePerGas ?? BigInt(LIMITS.settlementGasWei),
    onChange: (state, balance) => report('settlement_gas', { state, balanceWei: balance.toString() }),
  })

  /** Keeps a problem for the health report, and reports it when it begins, changes or ends. */
  function problem(who: string, what: string | undefined): void {
    if (problems.get(who) === what) return
    if (what === undefined) problems.delete(who)
    else problems.set(who, what)
    report('settlement_trouble', { who, what: what ?? 'none any more' })
  }

  /** A node of another chain would find every authorization unused. */
  async function requireOwnChain(): Promise<void> {
    if (isOwnChain) return
    const id = await chain?.chainId()
    isOwnChain = id === undefined || id === on.id
    if (isOwnChain) return
    throw new ServiceError('payments_unavailable', {
      message: `The node is of chain ${id}, and payments are on chain ${on.id}: nothing is settled`,
    })
  }

  /** Works off one stage, until the signal: what fails is tried again, and said. */
  async function runStage(
    stage: Stage,
    most: number,
    work: (streams: readonly string[], signal: AbortSignal) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<void> {
    const noteOutcome = (error: unknown): void => {
      const reason = isServiceError(error) || !(error instanceof Error) ? reasonOf(error) : error.stack
      if (!signal.aborted) problem(stage, error === undefined ? undefined : (reason ?? reasonOf(error)))
    }
    while (!signal.aborted) {
      await queue.wait(stage, signal)
      if (stage === 'direct') await sleep(timing.gatherMs, signal)
      const streams = signal.aborted ? [] : queue.take(stage, most)
      if (streams.length === 0) continue
      try {
        if (stage !== 'gateway') await requireOwnChain()
        noteOutcome(await work(streams, signal))
      } catch (error) {
        noteOutcome(error)
        // It concerns the node and not these: when that is back, none of them may be too late.
        queue.putBack(streams, TROUBLE_WAITS * timing.retryMs)
      } finally {
        queue.putBack(streams)
      }
    }
  }

  /** All of them to their end, before one that failed is spoken of: nobody looks at a payment twice at a time. */
  const eachOf =
    (forwarded: { work(stream: string, signal: AbortSignal): Promise<void> }) =>
    async (streams: readonly string[], signal: AbortSignal): Promise<unknown> =>
      firstReason(await Promise.allSettled(streams.map((stream) => forwarded.work(stream, signal))))

  function lanesOf(signal: AbortSignal): Promise<void>[] {
    const parts = { queue, timing, now, elapsed, sleep }
    const atOnce = LIMITS.facilitatorRequestsAtOnce
    const finality = createFinalityWatch({ ...parts, chain })
    const stages = [
      runStage('finality', FINALITY_PAYMENTS, (some, until) => finality.work(some, until), signal),
    ]
    if (wallet !== undefined && chain !== undefined) {
      const own = createOwnSettlement({ ...parts, chain, wallet, gas })
      const batch = options.batch ?? LIMITS.settlementBatch
      stages.push(runStage('direct', batch, (some, until) => own.work(some, until), signal))
      stages.push(watch('gas', () => seeGas(wallet), signal))
    } else if (facilitator !== undefined) {
      const forwarded = createForwardedSettlement({ ...parts, facilitator, chain, settler: 'facilitator' })
      stages.push(runStage('direct', atOnce, eachOf(forwarded), signal))
      stages.push(watch('facilitator at /supported', () => facilitator.problem(signal), signal))
    }
    if (gateway !== undefined) {
      const credited = createForwardedSettlement({
        ...parts,
        facilitator: gateway,
        chain: undefined,
        settler: 'gateway',
      })
      stages.push(runStage('gateway', atOnce, eachOf(credited), signal))
      stages.push(watch('gateway at /supported', () => gateway.problem(signal), signal))
    }
    return stages
  }

  async function seeGas(own: Wallet): Promise<undefined> {
    gas.see(await own.gas())
  }

  /** Looks at the gas wallet, or a facilitator, again and again: a problem is reported before somebody has paid in vain. */
  async function watch(
    who: string,
    look: () => Promise<string | undefined>,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      const what = await look().catch(reasonOf)
      if (!signal.aborted) problem(who, what)
      await sleep(problems.has(who) ? TROUBLE_WAITS * timing.retryMs : CHECK_MS, signal)
    }
  }

  async function followOn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await followClaims({ store, reader, queue }, signal)
        problem('log', undefined)
      } catch (error) {
        problem('log', reasonOf(error))
        await sleep(RESTART_MS, signal)
      }
    }
  }

  async function settle(signal: AbortSignal): Promise<void> {
    isWorking = true
    await Promise.all([followOn(signal), ...lanesOf(signal)])
    queue.clear()
    gas.rest()
    // The next process that settles has problems of its own.
    for (const who of problems.keys()) problem(who, undefined)
    isWorking = false
  }

  function payableSince(): number | undefined {
    const [oldest] = reader.range({ prefix: PAYABLE_PREFIX, limit: 1 })
    if (oldest === undefined) return undefined
    const payment = reader.get(paymentRowKey((oldest.row as OpenPayment).paymentId)) as Payment | undefined
    return payment?.claimedAtMs
  }

  function detail(lateSince: number | undefined): string {
    const state = gas.state()
    const parts = [...problems].map(([who, what]) => `${who}: ${what.split('\n')[0]}`)
    if (lateSince !== undefined) {
      parts.push(`a payment that could be settled has waited since ${isoTime(lateSince)}`)
    }
    if (state !== 'fine' && state !== 'unknown') parts.push(`gas: ${state}`)
    if (wallet === undefined && facilitator === undefined) parts.push('nobody settles payments on the chain')
    if (!isWorking) parts.push('not settling in this process at the moment')
    return parts.length === 0 ? 'settling' : parts.join('; ')
  }

  return {
    async run(signal) {
      if (leases === undefined) return settle(signal)
      while (!signal.aborted) {
        try {
          await workWhileLeased(leases, settle, signal)
        } catch (error) {
          problem('lease', reasonOf(error))
          await sleep(RESTART_MS, signal)
        }
      }
    },
    health() {
      const balance = gas.balance()
      const isShort = gas.state() === 'empty' || gas.state() === 'expensive'
      const since = payableSince()
      const lateSince = since !== undefined && now() - since >= LIMITS.settlementLateMs ? since : undefined
      return {
        ok: problems.size === 0 && !isShort && lateSince === undefined,
        detail: detail(lateSince),
        payableSince: since,
        ...(balance !== undefined && { gasBalance: balance }),
        ...queue.totals(),
      }
    },
  }
}
