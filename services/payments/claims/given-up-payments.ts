import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { SettlementConfirmed } from '../../../contracts/payment-events.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import type { Chain } from '../chain/chain.ts'
import type { Payment } from '../state/payment-state.ts'
import type { PaymentLog } from './payment-log.ts'

export interface GivenUpPaymentsOptions extends Pick<Clock, 'elapsed'> {
  readonly log: PaymentLog
  /** Undefined where no node is configured: then nobody can tell more. */
  readonly chain: Chain | undefined
  readonly newId: () => string
}

/**
 * Payments that were taken for uncollectable may have been paid all the same. The returned function asks the chain once
 * more, when a caller asks for the answer of such a payment.
 *
 * @returns the payment, confirmed now; undefined if it is not given up, or was not paid
 * @throws ServiceError `payments_unavailable` if the node does not answer; of the store
 */
export function createGivenUpLook({
  log,
  chain,
  newId,
  elapsed,
}: GivenUpPaymentsOptions): (payment: Payment) => Promise<Payment | undefined> {
  /** Streams of which the chain knew nothing a moment ago. */
  const unpaid = new RecentMap<string, true>(LIMITS.payersRemembered, {
    ttlMs: LIMITS.givenUpLookMs,
    now: elapsed,
  })

  return async ({ stream, state, rail }) => {
    if (state !== 'uncollectable' || rail !== 'direct' || chain === undefined) return undefined
    const loaded = unpaid.get(stream) === true ? undefined : await log.load(stream)
    if (loaded?.payment.state !== 'uncollectable') return undefined
    const { authorization, payment, revision } = loaded
    const outcome = await chain.outcomeOf(authorization, payment.claimedAtMs)
    if (outcome.kind !== 'paid') {
      unpaid.set(stream, true)
      return undefined
    }
    const { transaction, blockNumber, blockHash } = outcome
    const data = { paymentId: payment.paymentId, transaction, blockNumber, blockHash, by: 'other' as const }
    const meta = { correlationId: payment.paymentId, causationId: payment.paymentId, actor: 'calls' }
    await log.append(stream, [newEvent(SettlementConfirmed, { id: newId(), data, meta })], revision)
    return (await log.load(stream))?.payment
  }
}
