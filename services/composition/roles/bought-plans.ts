import { isServiceError } from '../../../contracts/errors.ts'
import type { Accounts } from '../../accounts/index.ts'
import type { Payment } from '../../payments/index.ts'
import type { PaidTier, PlanSales } from '../../tool-calls/index.ts'

/** Plans of accounts as they are bought by request. */
export const planSalesOf = (accounts: Pick<Accounts, 'requirePlanRoom' | 'buyPlan'>): PlanSales => ({
  requireRoom: (accountId, tier) => accounts.requirePlanRoom(accountId, tier),
  started: ({ accountId, requestId, ...bought }) =>
    accounts.buyPlan(accountId, bought, { correlationId: requestId, actor: 'calls' }),
})

/**
 * Called again for the same payment it does nothing. Money for an account that was gone before its plan began is reported: an
 * operator sends it back. It begins nothing in an account that the same address opens later.
 */
export async function startPaidPlan(
  accounts: Pick<Accounts, 'buyPlan'>,
  payment: Payment,
  report: (event: string, details: Readonly<Record<string, string>>) => void,
): Promise<void> {
  const { paymentId, claimedAtMs, product, accountId } = payment
  if (accountId === null) return
  const tier = product.slice('plans/'.length) as PaidTier
  try {
    const origin = { correlationId: paymentId, actor: 'settler' }
    await accounts.buyPlan(accountId, { tier, paymentId, claimedAtMs }, origin)
  } catch (error) {
    // It had begun before the account was erased: there is nothing to begin, and nothing to give back.
    if (isServiceError(error, 'plan_ended')) return
    if (!isServiceError(error, 'account_unknown')) throw error
    report('plan_not_begun', { paymentId, payer: payment.payer, product })
  }
}
