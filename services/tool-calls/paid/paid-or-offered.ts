import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { Payments, PresentedPayment } from '../../payments/index.ts'
import type { OfferText } from './offers.ts'
import type { PaidOutcome, PaidRequest } from './types.ts'

/** The refusal without a payment. One object for all: an error costs more to make than an offer to send. */
export const REQUIRED = new ServiceError('payment_required')

/** The same where nobody can be paid. */
const NOT_CONFIGURED = new ServiceError('payment_required', {
  message: 'This is paid for per call, and payments are not configured here (X402_PAY_TO): use an API key.',
  nextStep:
    'Sign in for a free API key with POST /api/sign-in, and ask at POST /mcp with it; nothing can be signed here.',
})

export interface PaidOrOfferedOptions {
  readonly payments: Pick<Payments, 'read' | 'isOffering'>
  /** The offer with the field `error`, in words of x402 or of the registry. */
  readonly offer: (error: string) => OfferText
  /** The refusal of a request without a payment. */
  readonly unpaid: { readonly refusal: ServiceError; readonly error: string }
  /** Checks before an offer is made, so that nobody signs a payment in vain. */
  readonly beforeOffer?: () => Promise<void>
  /** @throws ServiceError `payment_refused` with `details.reason` */
  readonly pay: (presented: PresentedPayment) => Promise<PaidOutcome>
}

/**
 * An offer to who brings no payment, or one that cannot be accepted; otherwise what was paid for.
 *
 * @throws ServiceError `payment_malformed`, and what `pay` throws
 */
export async function paidOrOffered(
  { rawHeaders }: Pick<PaidRequest, 'rawHeaders'>,
  { payments, offer, unpaid, beforeOffer, pay }: PaidOrOfferedOptions,
): Promise<PaidOutcome> {
  try {
    const presented = payments.read(rawHeaders)
    if (presented === undefined) {
      await beforeOffer?.()
      const refusal = payments.isOffering ? unpaid.refusal : NOT_CONFIGURED
      return { kind: 'offer', offer: offer(unpaid.error), refusal }
    }
    return await pay(presented)
  } catch (error) {
    if (!isServiceError(error, 'payment_refused')) throw error
    return { kind: 'offer', offer: offer(reasonIn(error)), refusal: error }
  }
}

/** In the vocabulary of x402, where the refusal has a word of it. */
const reasonIn = ({ code, details }: ServiceError): string =>
  typeof details?.reason === 'string' ? details.reason : code
