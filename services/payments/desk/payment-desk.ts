import { setImmediate } from 'node:timers/promises'
import { CHAIN_ID } from '../../../contracts/chain.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { EventMeta } from '../../../contracts/event.ts'
import { type EventDefinition, newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { PayerBlocked, PayerUnblocked, RefundSent } from '../../../contracts/payment-events.ts'
import type { PaymentState } from '../../../contracts/service-block.ts'
import { payerStream } from '../../../contracts/streams.ts'
import type { Payment } from '../../../projections/index.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { createPaymentLog, type LoadedPayment, type PaymentLog } from '../claims/payment-log.ts'
import type { PaymentIndex } from '../payment-index.ts'
import { decideRefund, type SentRefund } from './decide-refund.ts'

/** On whose behalf, and by which request, something is recorded. */
export type DeskOrigin = Pick<EventMeta, 'correlationId' | 'actor'>

export interface PaymentQuery {
  readonly state?: PaymentState | undefined
  /** In lower case. */
  readonly payer?: string | undefined
  /** Behind this payment. */
  readonly after?: string | undefined
  /** 1 to LIMITS.paymentRows. */
  readonly limit: number
}

/** What all payers together have claimed; amounts are millionths of a USDC. */
export interface PaymentTotals {
  /** Served and not settled. */
  readonly unsettled: bigint
  /** Served and never paid. */
  readonly debt: bigint
  /** Payments that are not at their end. */
  readonly open: number
  readonly claims: number
}

/** Payments as the operator sees them. */
export interface PaymentDesk {
  /** Newest claims first. @throws ServiceError `payments_unavailable` where this process keeps no read models */
  list(query: PaymentQuery): Promise<readonly Payment[]>
  /** The newest state, from the log. @throws ServiceError `payment_unknown`, `payments_unavailable` */
  show(paymentId: string): Promise<Payment>
  /**
   * Records money that was sent back by hand. The same transaction is recorded once, however often it is told.
   *
   * @throws ServiceError `payment_unknown`; `refund_refused` where the payment is not final, or less of it is left
   *   than would be sent back
   */
  refund(
    paymentId: string,
    refund: SentRefund & { readonly reason: string },
    origin: DeskOrigin,
  ): Promise<Payment>
  /** Takes no payments of a payer until it is unblocked. @param payer in lower case */
  block(payer: string, reason: string, origin: DeskOrigin): Promise<void>
  /** Takes payments of a payer again, and forgets its debts. @param payer in lower case */
  unblock(payer: string, reason: string, origin: DeskOrigin): Promise<void>
  /** For metrics and readiness; undefined where this process keeps no read models. */
  totals(): PaymentTotals | undefined
}

export interface PaymentDeskOptions {
  readonly store: EventStore
  /** Undefined where this process keeps no read models. */
  readonly index: PaymentIndex | undefined
  readonly newId: () => string
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Ends all waiting. */
  readonly signal: AbortSignal
}

/** Lost races after which something is wrong: each was lost to an event that is in the log now. */
const MOST_RACES = 16

/** @example const desk = createPaymentDesk({ store, index, newId, sleep, signal }) */
export function createPaymentDesk(options: PaymentDeskOptions): PaymentDesk {
  const { index, newId } = options
  const log = createPaymentLog(options)

  function rows(): PaymentIndex {
    if (index !== undefined) return index
    throw new ServiceError('payments_unavailable', {
      message: 'This process keeps no read models, so it cannot tell of payments.',
    })
  }

  async function load(paymentId: string): Promise<LoadedPayment> {
    const row = rows().payment(paymentId)
    const loaded = row && (await log.load(row.stream))
    if (loaded !== undefined) return loaded
    throw new ServiceError('payment_unknown', { message: `There is no payment ${paymentId}.` })
  }

  return {
    list: async (query) => list(rows(), query),
    show: async (paymentId) => (await load(paymentId)).payment,
    async refund(paymentId, { transaction, value, reason }, origin) {
      for (let races = 0; races < MOST_RACES; races++) {
        const { payment, refunds, revision } = await load(paymentId)
        if (decideRefund(payment, refunds, { transaction, value }) === 'known') return payment
        const data = { paymentId, transaction, value: value.toString(), reason }
        const event = newEvent(RefundSent, { id: newId(), data, meta: { ...origin } })
        const appended = await log.append(payment.stream, event, revision)
        if (appended !== undefined) return (await load(paymentId)).payment
      }
      throw isRaced(paymentId)
    },
    block: (payer, reason, origin) => setTrust(log, newId, PayerBlocked, { payer, reason }, origin),
    unblock: (payer, reason, origin) => setTrust(log, newId, PayerUnblocked, { payer, reason }, origin),
    totals() {
      if (index === undefined) return undefined
      const { unsettled = '0', debt = '0', open = 0, claims = 0 } = index.total() ?? {}
      return { unsettled: BigInt(unsettled), debt: BigInt(debt), open, claims }
    },
  }
}

/** Looks through rows page by page, and lets others have their turn in between: few of many may match. */
async function list(index: PaymentIndex, { state, payer, after, limit }: PaymentQuery): Promise<Payment[]> {
  const found: Payment[] = []
  let place = after
  while (true) {
    const page = index.newest({ after: place, limit: LIMITS.paymentRows })
    for (const payment of page) {
      if (state !== undefined && payment.state !== state) continue
      if (payer !== undefined && payment.payer !== payer) continue
      found.push(payment)
      if (found.length === limit) return found
    }
    place = page.at(-1)?.paymentId
    if (page.length < LIMITS.paymentRows) return found
    await setImmediate()
  }
}

/** What was said last of a payer holds; saying it once more is harmless, and forgets the debts that came since. */
async function setTrust(
  log: PaymentLog,
  newId: () => string,
  definition: typeof PayerBlocked | typeof PayerUnblocked,
  data: { payer: string; reason: string },
  origin: DeskOrigin,
): Promise<void> {
  const stream = payerStream(CHAIN_ID, data.payer)
  const event = newEvent(definition as EventDefinition, { id: newId(), data, meta: { ...origin } })
  for (let races = 0; races < MOST_RACES; races++) {
    const newest = await log.newest(stream)
    const isSaid = newest?.type === PayerBlocked.type && definition.type === PayerBlocked.type
    if (isSaid || (await log.append(stream, event, newest?.revision ?? 'no-stream')) !== undefined) return
  }
  throw isRaced(data.payer)
}

const isRaced = (what: string): ServiceError =>
  new ServiceError('store_unavailable', {
    message: `${what} changed ${MOST_RACES} times while it was to be changed; nothing was recorded`,
  })
