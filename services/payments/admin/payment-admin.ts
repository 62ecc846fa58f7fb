import { setImmediate } from 'node:timers/promises'
import type { PaymentState } from '../../../contracts/answers/service-block.ts'
import type { PaymentChain } from '../../../contracts/domain/chain.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { RefundSent } from '../../../contracts/events/payment-events.ts'
import type { Origin } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type LogUse, RETRY_FOR_CALLER } from '../../log/append-with-retry.ts'
import { executeCommand } from '../../log/command-handler.ts'
import { type LoadedPayment, loadPayment, type Payment } from '../payment.ts'
import type { PaymentIndex, PaymentPage } from '../payment-index.ts'
import type { ClaimCounts } from '../payments-projection.ts'
import { decideRefund, type SentRefund } from './decide-refund.ts'

export interface PaymentQuery {
  readonly state?: PaymentState | undefined
  /** In lower case. */
  readonly payer?: string | undefined
  /** Behind this payment. */
  readonly after?: string | undefined
  /** 1 to LIMITS.paymentRows. */
  readonly limit: number
}

/** The claims of all payers together; amounts are millionths of a USDC. */
export interface PaymentTotals {
  /** Served and not settled. */
  readonly unsettled: bigint
  /** Served and never paid. */
  readonly debt: bigint
  /** Payments that are not at their end. */
  readonly open: number
  readonly claims: number
  /** How many claims are in each state; states that none is in may be left out. */
  readonly byState: ClaimCounts
}

export interface PaymentAdminOptions extends LogUse {
  readonly on: PaymentChain
  /** Undefined where this process keeps no read models. */
  readonly index: PaymentIndex | undefined
}

export type PaymentAdmin = ReturnType<typeof createPaymentAdmin>

/** Payments as the operator sees them. */
export function createPaymentAdmin(options: PaymentAdminOptions) {
  const { index, newId } = options
  const path = { ...options, policy: RETRY_FOR_CALLER }

  function rows(): PaymentIndex {
    if (index !== undefined) return index
    throw new ServiceError('payments_unavailable', {
      message: 'This process keeps no read models, so it cannot tell of payments.',
      isForCallers: true,
    })
  }

  async function load(paymentId: string): Promise<LoadedPayment> {
    const row = rows().payment(paymentId)
    const loaded = row && (await loadPayment(options.store, row.stream))
    if (loaded !== undefined) return loaded
    throw new ServiceError('not_found', { message: `There is no payment ${paymentId}.` })
  }

  return {
    /** Newest claims first. @throws ServiceError `payments_unavailable` where this process keeps no read models */
    list: async (query: PaymentQuery): Promise<readonly Payment[]> => list(rows(), query),
    /** An account's payments for plans, newest claims first. @throws ServiceError `payments_unavailable` as `list` */
    listOwn: (accountId: string, page: PaymentPage) => rows().ofAccount(accountId, page),
    /** The newest state, from the log. @throws ServiceError `not_found`, `payments_unavailable` */
    show: async (paymentId: string) => (await load(paymentId)).payment,
    /**
     * Records money that was sent back by hand. The same transaction is recorded once, however often it is reported.
     *
     * @throws ServiceError `not_found`; `state_conflict` where the payment is not final, or less of it is left
     *   than would be sent back
     */
    async refund(
      paymentId: string,
      { transaction, value, reason }: SentRefund & { readonly reason: string },
      origin: Origin,
    ) {
      const { stream } = (await load(paymentId)).payment
      const { before, appended } = await executeCommand(path, {
        stream,
        async load() {
          const state = await load(paymentId)
          return { state, revision: state.revision }
        },
        decide({ payment, refunds }) {
          const isKnown = decideRefund(payment, refunds, { transaction, value }) === 'known'
          const data = { paymentId, transaction, value: value.toString(), reason }
          const event = newEvent(RefundSent, { id: newId(), data, meta: { ...origin } })
          return { events: isKnown ? [] : [event], result: undefined }
        },
        unknown: {
          what: 'the refund was recorded',
          again: 'Tell it again as it was: the same transaction is recorded once.',
        },
      })
      return appended === undefined ? before.payment : (await load(paymentId)).payment
    },
    /** For metrics and readiness; undefined where this process keeps no read models. */
    totals() {
      if (index === undefined) return undefined
      const { unsettled = '0', debt = '0', open = 0, claims = 0 } = index.total() ?? {}
      return {
        unsettled: BigInt(unsettled),
        debt: BigInt(debt),
        open,
        claims,
        byState: index.countsByState(),
      }
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
