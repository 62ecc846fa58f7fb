import type { QuotaBlock } from '../../../contracts/answers/service-block.ts'
import { formatUsdc } from '../../../contracts/domain/chain.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import { PLAN_DAYS, PLAN_LIMITS, TIERS } from '../../../contracts/domain/plans.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { PRICES } from '../../../contracts/tools/prices.ts'
import { type Balance, dayEnd, dayOf, onDay, type Payer } from './balance.ts'

/** The quota in an answer. @param at Unix milliseconds */
export function quotaBlock({ tier, window }: Payer, balance: Balance, at: number): QuotaBlock {
  const { callsPerWindow, callsPerDay } = PLAN_LIMITS[tier]
  const { used, usedToday, day } = onDay(balance, dayOf(at, window))
  const left = Math.max(0, callsPerWindow - used)
  const resetsAt = isoTime(window.to)
  if (callsPerDay === null)
    return { remaining: left, limit: callsPerWindow, used, resets_at: resetsAt, daily: null }
  const leftToday = Math.max(0, callsPerDay - usedToday)
  return {
    remaining: Math.min(left, leftToday),
    limit: callsPerWindow,
    used,
    resets_at: resetsAt,
    daily: {
      remaining: leftToday,
      limit: callsPerDay,
      used: usedToday,
      // The day of a window's last call may be cut by the window's end.
      resets_at: isoTime(Math.min(dayEnd(day), window.to)),
    },
  }
}

/** Plans that are larger than a payer's. */
const PAID_PLANS = TIERS.filter((tier) => tier !== 'free').map((tier) => ({
  tier,
  calls: PLAN_LIMITS[tier].callsPerWindow,
  days: PLAN_DAYS,
  price_usdc: formatUsdc(PRICES[`plans/${tier}`]),
  path: `/x402/plans/${tier}`,
}))

/**
 * The refusal of a call beyond what a payer has.
 *
 * @param payPerCall where the same tool is paid for call by call; undefined where it is not.
 */
export function quotaExhaustedError(
  payer: Payer,
  balance: Balance,
  exhausted: 'window' | 'day',
  at: number,
  payPerCall: string | undefined,
): ServiceError {
  const { remaining: _none, ...block } = quotaBlock(payer, balance, at)
  const resetsAt = exhausted === 'day' && block.daily !== null ? block.daily.resets_at : block.resets_at
  const canPay = payPerCall !== undefined
  const plans = PAID_PLANS.filter(({ calls }) => calls > PLAN_LIMITS[payer.tier].callsPerWindow)
  const ways = [
    'Wait until `details.resets_at`',
    ...(plans.length > 0
      ? [canPay ? 'buy a plan of `details.plans`' : 'ask the operator for a larger plan']
      : []),
    ...(canPay ? ['pay per call at `details.pay_per_call`'] : []),
  ]
  const period =
    exhausted === 'day' ? `${block.daily?.limit} of this UTC day` : `${block.limit} of this window`
  return new ServiceError('quota_exhausted', {
    message: `All ${period} were used (tier ${payer.tier}); the next ones are available at ${resetsAt}`,
    nextStep: `${ways.join(', or ')}.`,
    details: {
      tier: payer.tier,
      exhausted,
      limit: block.limit,
      used: block.used,
      daily: block.daily,
      window_resets_at: block.resets_at,
      resets_at: resetsAt,
      retry_after_s: Math.max(1, Math.ceil((Date.parse(resetsAt) - at) / 1_000)),
      // Without payments there is nowhere to buy them.
      plans: plans.map(({ path, ...plan }) =>
        canPay ? { ...plan, buy_at: payPerCall.replace(/\/x402\/.*$/, path) } : plan,
      ),
      pay_per_call: payPerCall ?? null,
    },
  })
}
