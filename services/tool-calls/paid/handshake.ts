import { assert } from '../../../contracts/errors/assert.ts'
import { type ErrorCode, isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Rail } from '../../../contracts/events/payment-events.ts'
import { type JsonObject, JsonText, textOf } from '../../../contracts/infra/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Product } from '../../../contracts/tools/prices.ts'
import {
  type ClaimedPayment,
  isServable,
  type Payment,
  type Payments,
  type PresentedPayment,
  type VerifiedPayment,
} from '../../payments/index.ts'
import { createPlaces, type Places } from '../../runtime/admission/places.ts'
import { createSingleFlight } from '../../runtime/async/single-flight.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { statusUrl } from './offers.ts'

/** The work that a payment buys. */
export interface PaidWork {
  readonly product: Product
  /** Millionths of a USDC. */
  readonly price: bigint
  /**
   * The hash of the request. It is called once the payment is verified, so that a caller who has not paid gets the price
   * before any other error.
   *
   * @throws ServiceError what is wrong with the request; the authorization stays unused
   */
  readonly requestHash: () => string
  /** Computes the answer, for an authorization that was never used. An error costs nothing. */
  readonly compute: () => Promise<JsonObject>
  /** The account of a bought plan; null for a tool. */
  readonly accountId: string | null
  readonly mustSettleFirst: boolean
  /** Network address of the caller. */
  readonly address: string
  readonly requestId: string
  readonly traceparent?: string | undefined
  readonly signal: () => AbortSignal
}

/** The result of a paid request. */
export interface Paid {
  readonly payment: Payment
  readonly answer: JsonObject
  /** The same as it was claimed, JSON. */
  readonly text: JsonText
  readonly isReplay: boolean
  readonly receipt: ReturnType<Payments['receipt']>
  /** Opens the answer again, for its payer. */
  readonly secret: string
}

/** Takes a payment and what it is for, once. */
export interface PaidHandshake {
  /**
   * @throws ServiceError `payment_refused`, `payment_mismatch`, `payment_unproven`, `payment_pending`,
   *   `payments_unavailable`, `rate_limited` for an address whose payments were refused too often, what `work` throws, and those of the store
   */
  pay(presented: PresentedPayment, work: PaidWork): Promise<Paid>
}

export interface PaidHandshakeOptions {
  readonly payments: Payments
  /** The address under which callers reach the service. */
  readonly publicUrl: () => string
  /** Milliseconds that only grow. */
  readonly clock: () => number
}

/** A claim, and its answer as an object where it was computed here. */
interface Claimed extends ClaimedPayment {
  readonly computed?: JsonObject
}

/** Refusals of which an address has few: each cost a look or a recovery, and many of them are guesses. */
const COUNTED = new Set<ErrorCode>(['payment_refused', 'payment_mismatch', 'payment_unproven'])

/** How soon who was turned away for want of room, or whose settlement takes its time, should ask again. */
const RETRY_AFTER_S = 2

/** Each rail has its own room: one that is slow, or full of worthless payments, does not block the other. */
const roomOf = (): Places<'payer' | 'address'> =>
  createPlaces({
    total: LIMITS.paymentsAtOnce,
    each: { payer: LIMITS.paymentsAtOncePerPayer, address: LIMITS.paymentsAtOncePerAddress },
  })

/**
 * look up → verify → request → can it be settled, can the payer pay → compute → claim → servable. The claim is one
 * append that holds the authorization and the answer: before it nothing was charged, and after it the same
 * authorization has the same answer for ever, for its payer.
 *
 * Who waits for a settlement has left the room where answers are computed.
 */
export function createPaidHandshake({ payments, publicUrl, clock }: PaidHandshakeOptions): PaidHandshake {
  /** A request with an authorization that is under way shares the outcome of the first. */
  const flights = createSingleFlight<Claimed>()
  const rooms: Readonly<Record<Rail, ReturnType<typeof roomOf>>> = { direct: roomOf(), gateway: roomOf() }
  const refusals = createRefusedPayments(clock)
  const servable = createServing(payments, publicUrl, refusals)

  async function claim(payment: VerifiedPayment, requestHash: string, work: PaidWork): Promise<Claimed> {
    if (!payments.isTaking(payment.rail)) throw railNotTakenError(payment)
    await payments.requirePayable(payment, work)
    const computed = await work.compute()
    const { text: answer } = textOf(computed)
    const claimed = await payments.claim(payment, { ...work, requestHash, answer })
    if (claimed.isReplay) return claimed
    requireWhole(claimed, requestHash, work)
    return { ...claimed, computed }
  }

  async function claimOnce(payment: VerifiedPayment, requestHash: string, work: PaidWork): Promise<Claimed> {
    let hasWaited = false
    const flight = flights.run(payment.stream, requestHash, async () => {
      // A request that waited for another with the same authorization looks up its outcome.
      const known = hasWaited ? await payments.find(payment, work.accountId) : undefined
      return known ?? claim(payment, requestHash, work)
    })
    hasWaited = true
    const { value, isShared } = await flight
    return isShared ? { ...value, isReplay: true } : value
  }

  /** A payment that was never seen, or whose signature is not the one that was claimed. */
  async function takeNew(presented: PresentedPayment, known: Claimed | undefined, work: PaidWork) {
    refusals.require(work.address)
    const verified = await payments.verify(presented, work.price)
    const requestHash = work.requestHash()
    const claimed = known ?? (await claimOnce(verified, requestHash, work))
    requireSame(claimed.requestHash, requestHash)
    return claimed
  }

  async function take(presented: PresentedPayment, work: PaidWork): Promise<Claimed> {
    const { give: leave } = rooms[presented.rail].take({ payer: presented.payer, address: work.address })
    if (leave === undefined) throw tooManyWaitingError()
    try {
      const known = await payments.find(presented, work.accountId)
      if (known?.isOwn !== true) return await takeNew(presented, known, work)
      requireSame(known.requestHash, work.requestHash())
      return known
    } catch (error) {
      if (!isServiceError(error) || !COUNTED.has(error.code)) throw error
      // Past its number an address is not told any more whether it guessed well.
      refusals.require(work.address)
      refusals.note(work.address)
      throw error
    } finally {
      leave()
    }
  }

  return {
    async pay(presented, work) {
      const claimed = await take(presented, work)
      const payment = await servable(claimed, work)
      return {
        payment,
        answer: claimed.computed ?? (JSON.parse(claimed.answer) as JsonObject),
        text: claimed.computed === undefined ? new JsonText(claimed.answer) : textOf(claimed.computed),
        isReplay: claimed.isReplay,
        receipt: payments.receipt(payment, presented.protocol),
        secret: payments.secretOf(payment),
      }
    },
  }
}

/** Waits for settlements, outside of the room where answers are computed. */
function createServing(
  payments: Payments,
  publicUrl: () => string,
  refusals: ReturnType<typeof createRefusedPayments>,
): (claimed: Claimed, work: PaidWork) => Promise<Payment> {
  const waitingRoom = createPlaces({
    total: LIMITS.settlementsAwaited,
    each: { payer: LIMITS.settlementsAwaitedPerPayer, address: LIMITS.settlementsAwaitedPerAddress },
  })

  return async (claimed, work) => {
    // Most are served first: there is nothing to wait for, and nobody who would stop waiting.
    if (isServable(claimed.payment)) return claimed.payment
    const { give: leave } = waitingRoom.take({ payer: claimed.payment.payer, address: work.address })
    try {
      // A caller without a place gets the state at once, and asks again.
      const until = leave === undefined ? AbortSignal.abort() : work.signal()
      const served = await payments.servable(claimed, until)
      assert(isServable(served), 'an answer leaves when it is served first or paid', served.state)
      return served
    } catch (error) {
      if (!isServiceError(error, 'payment_pending')) throw error
      if (leave !== undefined && work.signal().aborted) {
        // An abandoned claim counts as a refused payment of the address, and so has the same limit.
        refusals.note(work.address)
        await payments.abandon(claimed.payment)
      }
      const { paymentId } = claimed.payment
      throw new ServiceError('payment_pending', {
        message: error.message,
        details: {
          retry_after_s: RETRY_AFTER_S,
          ...error.details,
          payment_id: paymentId,
          payment_secret: payments.secretOf(claimed.payment),
          status_url: statusUrl(publicUrl(), paymentId),
        },
        cause: error,
      })
    } finally {
      leave?.()
    }
  }
}

/** A claim of our own is for what was asked, at its price. */
function requireWhole(
  { payment, requestHash: claimed }: Claimed,
  requestHash: string,
  { price }: PaidWork,
): void {
  assert(BigInt(payment.value) === price, 'a claim is over the price', payment.value)
  assert(claimed === requestHash, 'a claim is for its request', payment.paymentId)
}

function requireSame(ofClaim: string, ofRequest: string): void {
  if (ofClaim !== ofRequest) throw new ServiceError('payment_mismatch')
}

const railNotTakenError = ({ rail }: VerifiedPayment): ServiceError =>
  new ServiceError('payments_unavailable', {
    message: `Payments on the ${rail} rail are not taken here: ${rail === 'direct' ? 'they need a node (X402_RPC_URL) and a facilitator (X402_FACILITATOR_URL)' : 'they need X402_GATEWAY_URL'}. This request charged nothing.`,
    isForCallers: true,
  })

const tooManyWaitingError = (): ServiceError =>
  new ServiceError('payments_unavailable', {
    message: `As many paid requests are under way as this process takes (${LIMITS.paymentsAtOnce}), or takes of one payer (${LIMITS.paymentsAtOncePerPayer}) or address (${LIMITS.paymentsAtOncePerAddress}); this request charged nothing.`,
    isForCallers: true,
    details: { retry_after_s: RETRY_AFTER_S },
  })

interface Refused {
  count: number
  /** When counting begins anew, in milliseconds of the clock. */
  readonly until: number
}

/**
 * Counts the payments of an address that were refused. A payment that is signed and worth nothing costs its sender
 * nothing, and here a recovery and questions to a node: an address has few of them.
 *
 * @param clock milliseconds that only grow
 */
function createRefusedPayments(clock: () => number) {
  /** By address, those that began longest ago first. */
  const refused = new RecentMap<string, Refused>(LIMITS.paymentsRefusedAddresses, {
    ttlMs: LIMITS.paymentsRefusedMs,
    now: clock,
  })

  return {
    /** @throws ServiceError `rate_limited` for an address that has used up its refusals */
    require(address: string): void {
      const found = refused.get(address)
      if (found === undefined || found.count < LIMITS.paymentsRefusedPerAddress) return
      const seconds = Math.max(1, Math.ceil((found.until - clock()) / 1_000))
      throw new ServiceError('rate_limited', {
        message: `${found.count} payments from your address were refused; the next is looked at in ${seconds} s. Nothing was charged.`,
        details: { limit: LIMITS.paymentsRefusedPerAddress, retry_after_s: seconds },
      })
    },
    note(address: string): void {
      const found = refused.get(address)
      if (found !== undefined) {
        found.count += 1
        return
      }
      refused.set(address, { count: 1, until: clock() + LIMITS.paymentsRefusedMs })
    },
  }
}
