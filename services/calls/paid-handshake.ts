import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Product } from '../../contracts/prices.ts'
import { isServable, type Payment } from '../../projections/index.ts'
import type { ClaimedPayment, Payments, PresentedPayment, VerifiedPayment } from '../payments/index.ts'
import { createSingleFlight } from '../platform/async/single-flight.ts'
import { statusUrl } from './paid-block.ts'

/** What is to be had for a payment. */
export interface PaidWork {
  readonly product: Product
  /** Millionths of a USDC. */
  readonly price: bigint
  /**
   * Tells what is asked from everything else that could be; called once the payment is known to be good, so that
   * who has not paid is told the price before anything else.
   *
   * @throws ServiceError what is wrong with the request; the authorization stays unused
   */
  readonly requestHash: () => string
  /** What the answer is; called for an authorization that was never used. What it throws costs nothing. */
  readonly compute: () => Promise<JsonObject>
  /** Whose plan it buys; null for a tool. */
  readonly accountId: string | null
  readonly mustSettleFirst: boolean
  readonly requestId: string
  readonly traceparent?: string
  readonly signal: () => AbortSignal
}

/** What was paid for. */
export interface Paid {
  readonly payment: Payment
  readonly answer: JsonObject
  readonly isReplay: boolean
  readonly receipt: ReturnType<Payments['receipt']>
}

/** Takes a payment and what it is for, once. */
export interface PaidHandshake {
  /**
   * @throws ServiceError `payment_refused`, `payment_mismatch`, `payment_pending`, `payments_unavailable`, what
   *   `work` throws, and those of the store
   */
  pay(presented: PresentedPayment, work: PaidWork): Promise<Paid>
}

export interface PaidHandshakeOptions {
  readonly payments: Payments
  /** The address under which callers reach the service. */
  readonly publicUrl: () => string
}

/** A claim, and its answer as an object where it was computed here. */
interface Claimed extends ClaimedPayment {
  readonly computed?: JsonObject
}

/** How soon who was turned away for want of room, or whose settlement takes its time, should ask again. */
const RETRY_AFTER_S = 2

/**
 * verify → request → look up → can it be settled, can the payer pay → compute → claim → servable. The claim is one
 * append that holds the authorization and the answer: before it nothing was charged, and behind it the same
 * authorization has the same answer for ever.
 */
export function createPaidHandshake({ payments, publicUrl }: PaidHandshakeOptions): PaidHandshake {
  /** Who presents an authorization a second time meanwhile has the outcome of the first. */
  const flights = createSingleFlight<Claimed>()
  let taken = 0

  async function claim(payment: VerifiedPayment, requestHash: string, work: PaidWork): Promise<Claimed> {
    const known = await payments.find(payment)
    if (known !== undefined) return known
    if (!payments.isTaking(payment.rail)) throw isNotTaken(payment)
    await payments.requirePayable(payment)
    const computed = await work.compute()
    const { product, accountId, mustSettleFirst, requestId, traceparent } = work
    const answer = JSON.stringify(computed)
    const claimed = await payments.claim(payment, {
      product,
      requestHash,
      answer,
      accountId,
      mustSettleFirst,
      requestId,
      ...(traceparent !== undefined && { traceparent }),
    })
    return claimed.isReplay ? claimed : { ...claimed, computed }
  }

  async function claimOnce(payment: VerifiedPayment, requestHash: string, work: PaidWork): Promise<Claimed> {
    const { value, isShared } = await flights.run(payment.stream, requestHash, () =>
      claim(payment, requestHash, work),
    )
    return isShared ? { ...value, isReplay: true } : value
  }

  async function servable(claimed: Claimed, work: PaidWork): Promise<Payment> {
    // Most are served first: there is nothing to wait for, and nobody who would stop waiting.
    if (isServable(claimed.payment)) return claimed.payment
    try {
      return await payments.servable(claimed, work.signal())
    } catch (error) {
      if (!isServiceError(error, 'payment_pending')) throw error
      const { paymentId } = claimed.payment
      throw new ServiceError('payment_pending', {
        message: error.message,
        details: {
          retry_after_s: RETRY_AFTER_S,
          ...error.details,
          payment_id: paymentId,
          status_url: statusUrl(publicUrl(), paymentId),
        },
        cause: error,
      })
    }
  }

  async function exchange(presented: PresentedPayment, work: PaidWork): Promise<Paid> {
    const verified = await payments.verify(presented, work.price)
    const requestHash = work.requestHash()
    const claimed = await claimOnce(verified, requestHash, work)
    requireSame(claimed.requestHash, requestHash)
    const payment = await servable(claimed, work)
    return {
      payment,
      answer: claimed.computed ?? (JSON.parse(claimed.answer) as JsonObject),
      isReplay: claimed.isReplay,
      receipt: payments.receipt(payment, presented.protocol),
    }
  }

  return {
    async pay(presented, work) {
      if (taken >= LIMITS.paymentsAtOnce) throw isTooMany()
      taken += 1
      try {
        return await exchange(presented, work)
      } finally {
        taken -= 1
      }
    },
  }
}

function requireSame(ofClaim: string, ofRequest: string): void {
  if (ofClaim !== ofRequest) throw new ServiceError('payment_mismatch')
}

const isNotTaken = ({ rail }: VerifiedPayment): ServiceError =>
  new ServiceError('payments_unavailable', {
    message: `No settler is configured for payments on the ${rail} rail, so none is taken; nothing was charged.`,
  })

const isTooMany = (): ServiceError =>
  new ServiceError('payments_unavailable', {
    message: `${LIMITS.paymentsAtOnce} paid requests are under way in this process already; nothing was charged.`,
    details: { retry_after_s: RETRY_AFTER_S },
  })
