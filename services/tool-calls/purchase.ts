import { ServiceError } from '../../contracts/errors.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { PRICES, type Product } from '../../contracts/prices.ts'
import type { ServiceBlock } from '../../contracts/service-block.ts'
import type { Payment } from '../payments/index.ts'
import { requestHash } from './idempotency-key.ts'
import { paidServiceBlock } from './paid-block.ts'
import { callerOf, type PaidOutcome, type PaidRequest, type SentBody } from './paid-call.ts'
import type { PaidWork } from './paid-handshake.ts'
import type { PaidPathOptions } from './paid-options.ts'
import { type PaidOrOfferedOptions, paidOrOffered, REQUIRED } from './paid-or-offered.ts'

/** A plan or a balance: paid once, for later calls. */
export interface Purchase
  extends Pick<PaidWork, 'product' | 'compute' | 'accountId'>,
    Pick<PaidOrOfferedOptions, 'beforeOffer'>,
    Pick<ServiceBlock, 'auth' | 'notice'> {
  /** Begins what was paid for, at each request with this payment. @returns more fields of the answer */
  readonly begin: (payment: Payment) => Promise<JsonObject>
}

/** Settled before it counts, and once for a payment, however often that is sent. The payment is bound to the account. */
export function buy(
  options: PaidPathOptions,
  request: PaidRequest,
  { product, compute, accountId, beforeOffer, begin, ...words }: Purchase,
): Promise<PaidOutcome> {
  const { handshake, offers, payments } = options
  const price = PRICES[product]
  return paidOrOffered(request, {
    payments,
    offer: (error) => offers(product, price, error),
    unpaid: { refusal: REQUIRED, error: REQUIRED.code },
    ...(beforeOffer && { beforeOffer }),
    async pay(presented) {
      const { answer, isReplay, receipt, ...paid } = await handshake.pay(presented, {
        ...callerOf(request),
        product,
        price,
        requestHash() {
          requireNothing(request.body)
          return requestHash(product, accountId === null ? {} : { account_id: accountId })
        },
        compute,
        accountId,
        mustSettleFirst: true,
      })
      const begun = await begin(paid.payment)
      const told = { ...words, tool: product, requestId: request.requestId }
      const body: JsonObject = { ...answer, ...begun, _service: paidServiceBlock(options, told, paid) }
      return { kind: 'answer', body, isReplay, receipt }
    },
  })
}

/** The offer of a purchase to who sent no request for it. */
export const offerOf = ({ offers }: PaidPathOptions, product: Product): PaidOutcome => ({
  kind: 'offer',
  offer: offers(product, PRICES[product], REQUIRED.code),
  refusal: REQUIRED,
})

/**
 * There is nothing to say about a plan or a balance but which. What is said all the same was meant to do something: it is refused
 * before anything is taken.
 *
 * @throws ServiceError `invalid_content_type`, `invalid_request`
 */
function requireNothing(body: SentBody): void {
  if (body.isEmpty) return
  const sent = body.require()
  const isEmptyObject =
    typeof sent === 'object' && sent !== null && !Array.isArray(sent) && Object.keys(sent).length === 0
  if (isEmptyObject) return
  throw new ServiceError('invalid_request', {
    message: 'A plan or a balance is bought without a body, or with {}: the path says which.',
  })
}
