import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { PLAN_DAYS } from '../../../contracts/domain/plans.ts'
import { assert } from '../../../contracts/errors/assert.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { PRICES } from '../../../contracts/tools/prices.ts'
import type { PlanPeriod } from '../../../projections/index.ts'
import type { Accounts } from '../../accounts/index.ts'
import type { Payment } from '../../payments/index.ts'
import { requireKey } from '../caller-identity.ts'
import { requestHash } from '../idempotency-key.ts'
import { paidServiceBlock, statusUrl } from './offers.ts'
import { paidOrOffered, REQUIRED } from './paid-or-offered.ts'
import {
  callerOf,
  type PaidPathOptions,
  type PaidPlanPath,
  type PaidTier,
  type PlanSales,
  type SentBody,
} from './types.ts'

const PLAN_NOTICE = 'Information, not advice. The calls of this plan are those of all keys of the account.'

/** Begins the plan. A payer whose account is gone learns that, and where the payment is shown. */
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
      message: `The account was erased before its plan began; ask the operator to send payment ${paymentId} back.`,
      details: { payment_id: paymentId, status_url: statusUrl(publicUrl(), paymentId) },
      cause,
    })
  }
}

/**
 * The path of a bought plan. It is settled before it begins, since 30 days of calls are more than one answer to lend
 * to a stranger; the authorization is bound to the account, so that nobody can have it begin for another.
 */
export function createPaidPlanPath(options: PaidPathOptions): PaidPlanPath {
  const { plans, identify, handshake, offers, payments } = options

  /** Begins what was paid for, at each request with this payment. */
  async function begin(
    payment: Payment,
    { accountId, tier, requestId }: { accountId: string; tier: PaidTier; requestId: string },
  ) {
    const { paymentId, claimedAtMs } = payment
    const sentBack = `Payment ${paymentId} was sent back, so it begins no plan.`
    if (payment.state === 'refunded')
      throw new ServiceError('state_conflict', {
        message: sentBack,
        nextStep: 'Sign a new authorization to buy another plan.',
      })
    assert(payment.accountId === accountId, 'a plan begins for the account that it was paid for', paymentId)
    assert(!payment.isServedFirst, 'a plan is paid before it begins', paymentId)
    const { from, to } = await started(options, { accountId, tier, paymentId, claimedAtMs, requestId })
    assert(from < to, 'a plan lasts', paymentId)
    return { from: isoTime(from), to: isoTime(to) }
  }

  return {
    async buy(tier, request) {
      const { accountId } = requireKey(await identify(request.authorization))
      const { requestId } = request
      const product = `plans/${tier}` as const
      const price = PRICES[product]
      const requireRoom = (): Promise<void> => plans.requireRoom(accountId, tier)
      return paidOrOffered(request, {
        payments,
        offer: (error) => offers(product, price, error),
        unpaid: { refusal: REQUIRED, error: REQUIRED.code },
        beforeOffer: requireRoom,
        async pay(presented) {
          const { answer, isReplay, receipt, ...paid } = await handshake.pay(presented, {
            ...callerOf(request),
            product,
            price,
            requestHash() {
              requireNothing(request.body)
              return requestHash(product, { account_id: accountId })
            },
            async compute() {
              await requireRoom()
              return { plan: tier, days: PLAN_DAYS, account_id: accountId }
            },
            accountId,
            mustSettleFirst: true,
          })
          const begun = await begin(paid.payment, { accountId, tier, requestId })
          const auth = { outcome: 'OK', tier } as const
          const told = { tool: product, requestId, auth, notice: PLAN_NOTICE }
          const body: JsonObject = { ...answer, ...begun, _service: paidServiceBlock(options, told, paid) }
          return { kind: 'answer', body, isReplay, receipt }
        },
      })
    },
    offer(tier) {
      const product = `plans/${tier}` as const
      return { kind: 'offer', offer: offers(product, PRICES[product], REQUIRED.code), refusal: REQUIRED }
    },
  }
}

/**
 * There is nothing to say about a plan but which. What is said all the same was meant to do something: it is refused
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
    message: 'A plan is bought without a body, or with {}: the path says which.',
  })
}

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
    if (isServiceError(error, 'state_conflict')) return
    if (!isServiceError(error, 'account_unknown')) throw error
    report('plan_not_begun', { paymentId, payer: payment.payer, product })
  }
}
