import { assert } from '../../contracts/assert.ts'
import { isServiceError, ServiceError } from '../../contracts/errors.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import { PLAN_DAYS } from '../../contracts/plans.ts'
import type { PlanPeriod } from '../../projections/index.ts'
import { requireKey } from './caller-identity.ts'
import { statusUrl } from './paid-block.ts'
import type { PaidPath, PaidTier } from './paid-call.ts'
import type { PaidPathOptions, PlanSales } from './paid-options.ts'
import { buy, offerOf } from './purchase.ts'

const PLAN_NOTICE = 'Information, not advice. The calls of this plan are those of all keys of the account.'

/** Begins the plan. A payer whose account is gone learns that, and where the refund is shown. */
async function started(
  { plans, publicUrl }: Pick<PaidPathOptions, 'plans' | 'publicUrl'>,
  bought: Parameters<PlanSales['started']>[0],
): Promise<PlanPeriod> {
  try {
    return await plans.started(bought)
  } catch (cause) {
    if (!isServiceError(cause, 'account_unknown')) throw cause
    const { paymentId } = bought
    throw new ServiceError('account_unknown', {
      message: `The account was erased before its plan began; payment ${paymentId} is given back by itself.`,
      details: { payment_id: paymentId, status_url: statusUrl(publicUrl(), paymentId) },
      cause,
    })
  }
}

/**
 * The path of a bought plan. It is settled before it begins, since 30 days of calls are more than one answer to lend
 * to a stranger; the authorization is bound to the account, so that nobody can have it begin for another.
 */
export function createPaidPlanPath(options: PaidPathOptions): PaidPath<PaidTier> {
  const { plans, identify } = options
  return {
    async buy(tier, request) {
      const { accountId } = requireKey(await identify(request.authorization))
      const { requestId } = request
      const requireRoom = (): Promise<void> => plans.requireRoom(accountId, tier)
      return buy(options, request, {
        product: `plans/${tier}`,
        accountId,
        beforeOffer: requireRoom,
        async compute() {
          await requireRoom()
          return { plan: tier, days: PLAN_DAYS, account_id: accountId }
        },
        async begin(payment) {
          const { paymentId, claimedAtMs } = payment
          const sentBack = `Payment ${paymentId} was sent back, so it begins no plan.`
          if (payment.state === 'refunded') throw new ServiceError('plan_ended', { message: sentBack })
          assert(
            payment.accountId === accountId,
            'a plan begins for the account that it was paid for',
            paymentId,
          )
          assert(!payment.isServedFirst, 'a plan is paid before it begins', paymentId)
          const { from, to } = await started(options, { accountId, tier, paymentId, claimedAtMs, requestId })
          assert(from < to, 'a plan lasts', paymentId)
          return { from: isoTime(from), to: isoTime(to) }
        },
        auth: { outcome: 'OK', tier },
        notice: PLAN_NOTICE,
      })
    },
    offer: (tier) => offerOf(options, `plans/${tier}`),
  }
}
