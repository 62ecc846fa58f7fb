import type { DeliveryAttempt, OpenDelivery } from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Position } from '../../../contracts/position.ts'
import type { SignalType, SubscriptionFilter } from '../../../contracts/subscription.ts'
import type { Subscription } from '../../../projections/index.ts'
import { lookThrough } from '../signals/match-range.ts'
import { windowClosesAt } from '../signals/signal-window.ts'
import { signalData } from './delivery-body.ts'
import { type AttemptsQuery, listAttempts, type Page } from './list-attempts.ts'
import { mayPull } from './may-pull.ts'
import { type MissedPage, type PullOptions, pullMissed } from './pull-missed.ts'
import { readDeliveries } from './read-deliveries.ts'
import { type ShownDelivery, showDelivery } from './show-delivery.ts'

export interface DryRun {
  /** Signals that the filter would have let through, by type. */
  readonly matched: Readonly<Record<SignalType, number>>
  /** The first of them. */
  readonly rows: readonly DryRunRow[]
  /** Events that were looked at. */
  readonly scanned: number
  /** Where to go on; null where all was looked at. */
  readonly next: Position | null
}

export interface DryRunRow {
  readonly eventId: string
  readonly position: Position
  /** When it was recorded, Unix milliseconds. */
  readonly at: number
  readonly data: JsonObject
}

/** Questions about what was sent, and what would have been. All are answered from the log alone. */
export interface DeliveryQueries {
  /**
   * Attempts, newest first.
   *
   * @throws ServiceError `invalid_request` for an `after` that is no `next`
   */
  attempts(subscriptionId: string, query: AttemptsQuery): Promise<Page<DeliveryAttempt>>
  /** Deliveries that wait for their next try, in their order; at most `LIMITS.webhookOpenDeliveries`. */
  open(subscription: Pick<Subscription, 'subscriptionId' | 'startAfter'>): Promise<readonly OpenDelivery[]>
  /**
   * One delivery that was attempted, with the exact body.
   *
   * @throws ServiceError `delivery_unknown`; `delivery_withheld` where it may not be pulled; `event_unreadable` where the body does not come out as it was sent
   */
  show(subscription: Subscription, deliveryId: string): Promise<ShownDelivery>
  /**
   * Signals of a subscription behind a sequence, with the bodies they are sent with, whether they were sent or
   * not: what a receiver that sees a hole asks for. It ends in front of the first that may not be pulled yet.
   *
   * @param query.after a sequence (`"41"`; `"0"` for the first), or `next` of the page before
   * @throws ServiceError `invalid_request` for another `after`
   */
  missed(
    subscription: Subscription,
    query: { readonly after: string; readonly limit: number },
  ): Promise<MissedPage>
  /**
   * What a filter would have let through in a stretch of the log; both ends as positions, `upTo` inclusive. Of signals
   * whose window is open nothing is told, nor are they counted: a count would tell what they say.
   */
  dryRun(
    filter: SubscriptionFilter,
    query: { readonly after: Position; readonly upTo?: Position | undefined; readonly limit: number },
  ): Promise<DryRun>
}

/** @example const queries = createDeliveryQueries({ store, idOf, baseUrl: () => 'https://signals.example.com' }) */
export function createDeliveryQueries(options: PullOptions): DeliveryQueries {
  const { store, baseUrl, marketNow } = options
  return {
    attempts: (subscriptionId, query) => listAttempts(store, subscriptionId, query),
    async open(subscription) {
      const { open } = await readDeliveries(store, subscription)
      return [...open.values()].toSorted((a, b) => a.sequence - b.sequence)
    },
    async show(subscription, deliveryId) {
      const shown = await showDelivery(store, subscription.subscriptionId, deliveryId)
      const state = await readDeliveries(store, subscription)
      if (mayPull(shown, subscription, state, marketNow())) return shown
      throw new ServiceError('delivery_withheld', {
        message: `The window of delivery ${deliveryId} is open until ${isoTime(windowClosesAt(shown.signal))} of market time, and no delivery of subscription ${subscription.subscriptionId} was ever taken.`,
      })
    },
    missed: (subscription, query) => pullMissed(options, subscription, query),
    async dryRun(filter, { after, upTo, limit }) {
      const subscription = { subscriptionId: DRY_RUN_ID, filters: [{ after, filter }] }
      const matched = { trade_call: 0, regime_shift: 0, scan_digest: 0, model_notice: 0 }
      const rows: DryRunRow[] = []
      let scanned = 0
      const asOf = marketNow()
      const end = upTo ?? (await store.head())
      for await (const looked of lookThrough({ store }, subscription, { after, sequence: 1 }, end)) {
        scanned += 1
        if (looked.matched !== undefined && windowClosesAt(looked.matched.signal) <= asOf) {
          const { signal, topN } = looked.matched
          const { type, eventId, position, at } = signal
          matched[type] += 1
          if (rows.length < limit)
            rows.push({ eventId, position, at, data: signalData(signal, baseUrl(), topN) })
        }
        if (scanned === LIMITS.webhookDryRunEvents) return { matched, rows, scanned, next: looked.position }
      }
      return { matched, rows, scanned, next: null }
    },
  }
}

/** Stands for a subscription that does not exist. */
const DRY_RUN_ID = '00000000-0000-8000-8000-000000000000'
