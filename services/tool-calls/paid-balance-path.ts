import { formatUsdc } from '../../contracts/chain.ts'
import { type BalanceAmount, PRICES } from '../../contracts/prices.ts'
import type { PaidPath } from './paid-call.ts'
import type { PaidPathOptions } from './paid-options.ts'
import { buy, offerOf } from './purchase.ts'

const NOTICE =
  'Later calls are signed as usual, each with a nonce of its own, and draw on the balance of the payer. It is no money, and is not paid out.'

/**
 * The path of a balance. Each later call is an authorization as ever, which nobody brings to the chain: a thousand calls
 * are one transaction.
 */
export const createPaidBalancePath = (options: PaidPathOptions): PaidPath<BalanceAmount> => ({
  async buy(amount, request) {
    const product = `balance/${amount}` as const
    return buy(options, request, {
      product,
      accountId: null,
      compute: async () => ({ paid_in_usdc: formatUsdc(PRICES[product]) }),
      async begin(payment) {
        const left = await options.payments.payIn(payment)
        return { balance_usdc: formatUsdc(left), payer: payment.payer }
      },
      auth: { outcome: 'ABSENT', tier: 'free' },
      notice: NOTICE,
    })
  },
  offer: (amount) => offerOf(options, `balance/${amount}`),
})
