import { formatUsdc } from '../../contracts/chain.ts'
import type { JsonObject } from '../../contracts/json.ts'
import { type BalanceAmount, PRICES } from '../../contracts/prices.ts'
import { requestHash } from './idempotency-key.ts'
import { paidServiceBlock } from './paid-block.ts'
import { callerOf, type PaidPath } from './paid-call.ts'
import type { PaidPathOptions } from './paid-options.ts'
import { paidOrOffered, REQUIRED } from './paid-or-offered.ts'
import { requireNothing } from './paid-plan-path.ts'

const NOTICE =
  'Later calls are signed as usual, each with a nonce of its own, and draw on the balance of the payer. It is no money, and is not paid out.'

/**
 * The path of a balance: settled before it counts, once for a payment however often that is sent. Each later call is an
 * authorization as ever, which nobody brings to the chain: a thousand calls are one transaction.
 */
export function createPaidBalancePath(options: PaidPathOptions): PaidPath<BalanceAmount> {
  const { handshake, offers, payments } = options
  return {
    async buy(amount, request) {
      const product = `balance/${amount}` as const
      const price = PRICES[product]
      return paidOrOffered(request, {
        payments,
        offer: (error) => offers(product, price, error),
        unpaid: { refusal: REQUIRED, error: REQUIRED.code },
        async pay(presented) {
          const { answer, isReplay, receipt, ...paid } = await handshake.pay(presented, {
            ...callerOf(request),
            product,
            price,
            requestHash() {
              requireNothing(request.body)
              return requestHash(product, {})
            },
            compute: async () => ({ paid_in_usdc: formatUsdc(price) }),
            accountId: null,
            mustSettleFirst: true,
          })
          const left = await payments.payIn(paid.payment)
          const body: JsonObject = {
            ...answer,
            balance_usdc: formatUsdc(left),
            payer: paid.payment.payer,
            _service: paidServiceBlock(
              options,
              {
                tool: product,
                requestId: request.requestId,
                auth: { outcome: 'ABSENT', tier: 'free' },
                notice: NOTICE,
              },
              paid,
            ),
          }
          return { kind: 'answer', body, isReplay, receipt }
        },
      })
    },

    offer(amount) {
      const product = `balance/${amount}` as const
      return { kind: 'offer', offer: offers(product, PRICES[product], REQUIRED.code), refusal: REQUIRED }
    },
  }
}
