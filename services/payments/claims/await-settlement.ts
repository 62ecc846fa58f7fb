import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { UncollectableReason } from '../../../contracts/events/payment-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { isServable, type Payment, type PaymentLog } from '../payment.ts'
import { paymentRefusedError, type X402Reason } from '../refusal.ts'

export interface AwaitSettlementOptions extends Pick<Clock, 'elapsed' | 'sleep'> {
  readonly log: PaymentLog
}

/** How often the log is read: whichever process settles, blocks come every two seconds. */
const LOOK_EVERY_MS = 500

/**
 * The payment once its answer may leave: it is served first, or its money has come.
 *
 * @throws ServiceError `payment_pending` after LIMITS.settlementWaitMs, or where nobody waits any more;
 *   `payment_refused` where the money never comes
 */
export async function awaitSettlement(
  payment: Payment,
  signal: AbortSignal,
  { log, elapsed, sleep }: AwaitSettlementOptions,
): Promise<Payment> {
  const deadline = elapsed() + LIMITS.settlementWaitMs
  let newest = payment
  while (true) {
    const done = settled(newest)
    if (done !== undefined) return done
    const leftMs = deadline - elapsed()
    if (leftMs <= 0 || signal.aborted) throw pendingError(newest)
    await sleep(Math.min(leftMs, LOOK_EVERY_MS), signal)
    newest = (await log.load(payment.stream))?.payment ?? payment
  }
}

/** Gives up a claim that nobody waits for any more, unless its answer has left or something may have been sent for it. */
export async function abandonClaim({ stream }: Payment, log: PaymentLog): Promise<void> {
  const loaded = await log.load(stream)
  if (loaded === undefined) return
  const { isServedFirst, state, attempts } = loaded.payment
  if (isServedFirst || state !== 'owed' || attempts > 0) return
  const data = { reason: 'abandoned', detail: 'its caller has gone before it was sent' } as const
  // If the settler was quicker, it is settled.
  await log.append(loaded, [{ type: 'PaymentUncollectable', data }], 'calls')
}

/** @throws ServiceError `payment_refused` */
function settled(payment: Payment): Payment | undefined {
  if (isServable(payment)) return payment
  if (payment.state !== 'uncollectable') return undefined
  const reason = payment.reason as UncollectableReason
  const charged =
    reason === 'unclear'
      ? `Whether anything was charged is not known here: look up the authorization on the chain, and ask the operator with the id ${payment.paymentId}.`
      : 'Nothing was charged.'
  throw paymentRefusedError(
    REASONS[reason],
    `The payment was not collected, and its answer is not given: ${reason}. ${charged}`,
  )
}

const REASONS: Readonly<Record<UncollectableReason, X402Reason>> = {
  cancelled: 'invalid_transaction_state',
  expired: 'invalid_exact_evm_payload_authorization_valid_before',
  insufficient_funds: 'insufficient_funds',
  refused: 'unexpected_settle_error',
  abandoned: 'unexpected_settle_error',
  unclear: 'unexpected_settle_error',
}

const pendingError = ({ state }: Payment): ServiceError =>
  new ServiceError('payment_pending', {
    message: `The payment is ${state}: its money has not come within the time that a request waits for it.`,
    details: { state },
  })
