import { assert } from '../../../contracts/assert.ts'
import { reasonOf } from '../../../contracts/errors.ts'
import { isoDay } from '../../../contracts/iso-time.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { refundStream } from '../../../contracts/streams.ts'
import type { ProjectionReader } from '../../log/projector/projector.ts'
import { loadPayment } from '../loaded-payment.ts'
import { createSettlementLog } from '../settlement/settlement-log.ts'
import { type Payment } from '../state/payment-state.ts'
import {
  OPEN_REFUND_PREFIX,
  openPayments,
  type PaymentsRow,
  paymentRowKey,
  REFUND_TOTALS_KEY,
  type RefundDay,
  type RefundTotals,
  refundDayKey,
  rowsUnder,
  TAKEN_CREDIT_PREFIX,
  type TakenCredit,
  transferKey,
} from '../state/payments.ts'
import { carryOutRefund, type RefundTools } from './carry-out-refund.ts'
import { createCreditLedger } from './credit-ledger.ts'
import { decideRefundStep, type RefundWaits } from './decide-refund-step.ts'

export interface RefunderOptions extends Omit<RefundTools, 'validityS' | 'balance' | 'promised' | 'began'> {
  /** The read model of payments. */
  readonly reader: Pick<ProjectionReader<PaymentsRow>, 'get' | 'range'>
  readonly timing?: Partial<RefundTiming>
}

export interface RefundTiming extends RefundWaits {
  readonly pollMs: number
  /** How long the transfer of a refund can be sent, seconds. */
  readonly validityS: number
}

/** How refunds stand. Amounts are millionths of a USDC. */
export interface RefundHealth {
  readonly ok: boolean
  readonly detail: string
  /** Address of the refund wallet; undefined if there is none. */
  readonly address: string | undefined
  /** When it was last asked; undefined where nobody has. */
  readonly balance: bigint | undefined
  readonly dailyCap: bigint
  /** Transfers that have their place in this UTC day. */
  readonly allottedToday: bigint
  /** Given back by itself so far. */
  readonly transferred: bigint
  readonly credited: bigint
  /** Payments that may have to be given back, or are being given back. */
  readonly open: number
  /** Age of the oldest refund that has begun and is not done, milliseconds; 0 where there is none. */
  readonly oldestBegunMs: number
}

export const REFUND_TIMING: RefundTiming = {
  afterMs: LIMITS.refundAfterMs,
  graceMs: LIMITS.refundGraceMs,
  pollMs: LIMITS.refundPollMs,
  validityS: LIMITS.refundValidityS,
}

/** After this no authorization is valid for which credit was taken: nobody can claim it any more. */
const UNCLAIMABLE_MS = LIMITS.gatewayValidityMostS * 1_000 + LIMITS.refundGraceMs

/** The wallet is asked for its balance this often, while nothing is to be given back. */
const BALANCE_MS = 60_000

export type Refunder = ReturnType<typeof createRefunder>

/**
 * Refunds payments in vain automatically. One append to the stream of the payment decides whether and how, so either the
 * answer is given or the money, never both. A transfer is an authorization of the refund wallet, which the settler
 * settles like a payment: the token takes its nonce once, whichever process crashes.
 */
export function createRefunder(options: RefunderOptions) {
  const { reader, wallet, now, sleep, report } = options
  const timing = { ...REFUND_TIMING, ...options.timing }
  const log = createSettlementLog(options)
  /** Transfers that were begun here, until the read model shows them. */
  const begun = new Map<string, bigint>()
  let trouble: string | undefined
  let balance: bigint | undefined
  let askedAt = Number.NEGATIVE_INFINITY

  const tools: RefundTools = {
    ...options,
    validityS: timing.validityS,
    balance: askBalance,
    promised: () => promisedOf(reader, begun),
    began: (paymentId, value) => void begun.set(paymentId, value),
  }

  const rowOf = (key: string): Payment | undefined => reader.get(key) as Payment | undefined

  async function askBalance(): Promise<bigint | undefined> {
    balance = await wallet?.balance()
    askedAt = now()
    return balance
  }

  async function work(paymentId: string, signal: AbortSignal): Promise<void> {
    const row = rowOf(paymentRowKey(paymentId))
    if (row === undefined) return
    const seen = decideRefundStep({ payment: row, transfer: rowOf(transferKey(paymentId)) }, now(), timing)
    if (seen.kind === 'nothing' || seen.kind === 'wait') return
    // The read model has said where to look; the log decides.
    const loaded = await log.load(row.stream, signal)
    const transfer = await log.load(refundStream(paymentId), signal)
    if (loaded === undefined || signal.aborted) return
    const facts = { payment: loaded.payment, transfer: transfer?.payment }
    const step = decideRefundStep(facts, now(), timing)
    await carryOutRefund(tools, loaded, step, signal)
  }

  async function workOnce(signal: AbortSignal): Promise<void> {
    let failure: unknown
    const steps = [
      ...Array.from(openPayments(reader, OPEN_REFUND_PREFIX), (id) => () => work(id, signal)),
      ...takenCredits(reader).map((taken) => () => returnCredit(options, taken, signal)),
    ]
    for (const step of steps) {
      if (signal.aborted) return
      // One that cannot be worked on keeps no other from its money.
      await step().catch((error: unknown) => {
        failure ??= error
      })
    }
    if (wallet !== undefined && now() - askedAt >= BALANCE_MS) await askBalance()
    if (failure !== undefined) throw failure
  }

  function noteOutcome(next: string | undefined): void {
    if (next === trouble) return
    trouble = next
    report('refund_trouble', { what: next ?? 'none any more' })
  }

  return {
    /** Works until the signal, in the process that settles. Never rejects. */
    async run(signal: AbortSignal) {
      while (!signal.aborted) {
        try {
          await workOnce(signal)
          noteOutcome(undefined)
        } catch (error) {
          if (!signal.aborted) noteOutcome(reasonOf(error))
        }
        await sleep(timing.pollMs, signal)
      }
    },
    health: () => healthOf(options, { trouble, balance, ids: [...openPayments(reader, OPEN_REFUND_PREFIX)] }),
  }
}

const takenCredits = (reader: RefunderOptions['reader']): TakenCredit[] =>
  Array.from(rowsUnder<TakenCredit>(reader, TAKEN_CREDIT_PREFIX))

/** The log decides whether taken credit comes back: the process that took it may have ended before it could. */
async function returnCredit(
  options: RefunderOptions,
  { payer, authorization, takenAtMs }: TakenCredit,
  signal: AbortSignal,
): Promise<void> {
  const claimed = (await loadPayment(options.store, authorization, signal))?.payment
  if (signal.aborted || claimed?.state === 'credited') return
  if (claimed === undefined && options.now() < takenAtMs + UNCLAIMABLE_MS) return
  await createCreditLedger({ ...options, signal }).giveBack(payer, authorization, claimed)
}

/**
 * The sum of transfers that are under way and still part of the wallet's balance.
 *
 * @param begun transfers that the read model may not show yet; those that it shows are taken out
 */
function promisedOf(reader: RefunderOptions['reader'], begun: Map<string, bigint>): bigint {
  const rowOf = (key: string): Payment | undefined => reader.get(key) as Payment | undefined
  let sum = 0n
  for (const [paymentId, value] of begun) {
    const refund = rowOf(paymentRowKey(paymentId))?.refund ?? null
    if (refund === null) sum += value
    else begun.delete(paymentId)
  }
  for (const paymentId of openPayments(reader, OPEN_REFUND_PREFIX)) {
    const refund = rowOf(paymentRowKey(paymentId))?.refund
    const state = rowOf(transferKey(paymentId))?.state
    const isOut = state === 'confirmed' || state === 'final'
    if (refund?.by === 'transfer' && !isOut) sum += BigInt(refund.value)
  }
  assert(sum >= 0n, 'the transfers under way are worth no less than nothing', sum)
  return sum
}

/** How refunds stand, by the read model and what was seen of the wallet. */
function healthOf(
  { reader, wallet, dailyCap, now }: RefunderOptions,
  seen: {
    readonly trouble: string | undefined
    readonly balance: bigint | undefined
    readonly ids: readonly string[]
  },
): RefundHealth {
  const begun = seen.ids.flatMap(
    (paymentId) => (reader.get(paymentRowKey(paymentId)) as Payment | undefined)?.refund?.begunAt ?? [],
  )
  const oldestBegunMs = begun.length === 0 ? 0 : Math.max(0, now() - Math.min(...begun))
  const totals = reader.get(REFUND_TOTALS_KEY) as RefundTotals | undefined
  const day = isoDay(now())
  const today = reader.get(refundDayKey(day)) as RefundDay | undefined
  const isLate = oldestBegunMs >= LIMITS.refundLateMs
  const parts = [
    ...(seen.trouble === undefined ? [] : [seen.trouble]),
    ...(isLate ? [`the oldest refund was begun ${Math.round(oldestBegunMs / 60_000)} minutes ago`] : []),
  ]
  return {
    ok: parts.length === 0,
    detail: parts.length === 0 ? 'giving back' : parts.join('; '),
    address: wallet?.address,
    balance: seen.balance,
    dailyCap,
    allottedToday: BigInt(today?.total ?? '0'),
    transferred: BigInt(totals?.transferred ?? '0'),
    credited: BigInt(totals?.credited ?? '0'),
    open: seen.ids.length,
    oldestBegunMs,
  }
}
