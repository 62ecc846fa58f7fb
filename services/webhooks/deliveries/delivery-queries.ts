import type { DeliveryAttempt, DeliveryResult, OpenDelivery } from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Position } from '../../../contracts/position.ts'
import type { SignalType, SubscriptionFilter } from '../../../contracts/subscription.ts'
import type { EventStore } from '../../log/event-store.ts'
import { lookThrough } from '../signals/look-through.ts'
import type { Signal } from '../signals/signal.ts'
import { windowClosesAt } from '../signals/signal-window.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { type CountedDays, countDays } from './count-days.ts'
import { signalData } from './delivery-body.ts'
import { mayPull } from './may-pull.ts'
import { prepareAgain, signalAt } from './prepare-delivery.ts'
import { type MissedPage, type PullOptions, pullMissed } from './pull-missed.ts'
import {
  deliveriesBackwards,
  deliveriesSince,
  type NumberedDelivery,
  readDeliveries,
} from './read-deliveries.ts'

export interface DryRun {
  /** Signals that the filter would have let through, by type. */
  readonly matched: Readonly<Record<SignalType, number>>
  /** The first of them. */
  readonly rows: readonly DryRunRow[]
  /** Events that were looked at. */
  readonly scanned: number
  /** Cursor of the next page; null at the end. */
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
   * Attempts, newest first. What may not be pulled yet is not found by its event, call or regime.
   *
   * @throws ServiceError `invalid_request` for an `after` that is no `next`
   */
  attempts(subscription: Subscription, query: AttemptsQuery): Promise<Page<DeliveryAttempt>>
  /** Attempts of the newest UTC days by what came of them, newest day first. */
  days(subscriptionId: string, query: { readonly now: number; readonly days: number }): Promise<CountedDays>
  /** Deliveries that wait for their next try, in their order; at most `LIMITS.webhookOpenDeliveries`. */
  open(subscription: Pick<Subscription, 'subscriptionId' | 'startAfter'>): Promise<readonly OpenDelivery[]>
  /**
   * One delivery that was attempted, with the exact body.
   *
   * @throws ServiceError `delivery_unknown`; `delivery_withheld` where it may not be pulled; `event_unreadable` where the body does not come out as it was sent
   */
  show(subscription: Subscription, deliveryId: string): Promise<ShownDelivery>
  /**
   * Signals of a subscription after a sequence, with the bodies they are sent with, whether they were sent or
   * not: a receiver that sees a hole asks for them. The page ends before the first that may not be pulled yet.
   *
   * @param query.after a sequence (`"41"`; `"0"` for the first), or `next` of the page before
   * @throws ServiceError `invalid_request` for another `after`
   */
  missed(
    subscription: Subscription,
    query: { readonly after: string; readonly limit: number },
  ): Promise<MissedPage>
  /**
   * The signals that a filter would have let through in a stretch of the log; both ends as positions, `upTo` inclusive.
   * Signals whose window is open are neither shown nor counted: a count would reveal them.
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
    attempts: (subscription, query) => listAttempts(options, subscription, query),
    days: (subscriptionId, query) => countDays(store, subscriptionId, query),
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
      const matched = { trade_call: 0, regime_shift: 0, scan_digest: 0 }
      const rows: DryRunRow[] = []
      let scanned = 0
      const asOf = marketNow()
      const end = upTo ?? (await store.head())
      for await (const looked of lookThrough(store, subscription, { after, sequence: 1 }, end)) {
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

interface AttemptsQuery {
  /** `next` of the page before. */
  readonly after?: string | undefined
  /** Rows, at most; `LIMITS.webhookRows` and no more. */
  readonly limit: number
  /** Only attempts that ended so. */
  readonly result?: DeliveryResult | undefined
  /** Only deliveries of signals with these; a digest is of no coin. */
  readonly exchange?: string | undefined
  readonly coin?: string | undefined
  readonly timeframe?: string | undefined
  readonly event?: SignalType | undefined
  readonly call?: string | undefined
  readonly regime?: string | undefined
}

interface Page<Row> {
  readonly rows: readonly Row[]
  /** Cursor of the next page; null at the end. A page may have fewer rows than requested, or none, before the end. */
  readonly next: string | null
}

/** An attempt's place: the revision of its event, and where it stands in it. */
interface Place {
  readonly revision: number
  readonly index: number
}

/** Attempts of a subscription, newest first, after the one that `after` names. */
async function listAttempts(
  { store, marketNow }: Pick<PullOptions, 'store' | 'marketNow'>,
  subscription: Subscription,
  { after, limit, result, event, call, regime, ...wanted }: AttemptsQuery,
): Promise<Page<DeliveryAttempt>> {
  const { subscriptionId } = subscription
  const sought = { event, call, regime }
  const isSought = Object.values(sought).some((value) => value !== undefined)
  const state = isSought ? await readDeliveries(store, subscription) : undefined
  const before = after === undefined ? undefined : parsePlace(after)
  const most = Math.min(limit, LIMITS.webhookRows)
  const rows: DeliveryAttempt[] = []
  let [looked, lookedUp] = [0, 0]
  let last: Place | undefined
  for await (const recorded of deliveriesBackwards(store, subscriptionId, before?.revision)) {
    if (looked++ === LIMITS.webhookScanEvents || rows.length === most)
      return { rows, next: formatPlace(last) }
    const attempts = recorded.type === 'DeliveriesAttempted' ? recorded.data.attempts : []
    const { revision } = recorded
    const end = before?.revision === revision ? Math.min(before.index, attempts.length) : attempts.length
    last = { revision, index: 0 }
    for (let index = end - 1; index >= 0; index--) {
      const attempt = attempts[index]
      if (attempt === undefined || (result !== undefined && attempt.result !== result)) continue
      if (!isOf(attempt.stream, wanted)) continue
      last = { revision, index }
      if (state !== undefined) {
        if (lookedUp++ === LIMITS.webhookSearchEvents)
          return { rows, next: formatPlace({ revision, index: index + 1 }) }
        const signal = await signalAt(store, attempt)
        if (!mayPull({ signal, sequence: attempt.sequence }, subscription, state, marketNow())) continue
        if (!hasFields(signal, sought)) continue
      }
      rows.push(attempt)
      if (rows.length === most && index > 0) return { rows, next: formatPlace(last) }
    }
  }
  return { rows, next: null }
}

/** Whether the events of a stream have these fields: its name says them. */
function isOf(
  stream: string,
  wanted: { readonly [Field in 'exchange' | 'coin' | 'timeframe']?: string | undefined },
) {
  const parts = stream.slice(stream.indexOf('-') + 1).split('.')
  const has = { exchange: parts[0], coin: parts.length === 3 ? parts[1] : undefined, timeframe: parts.at(-1) }
  return Object.entries(wanted).every(
    ([field, value]) => value === undefined || has[field as keyof typeof has] === value,
  )
}

/** Whether a signal has these fields. */
function hasFields(
  { type, data }: Signal,
  { event, ...wanted }: Pick<AttemptsQuery, 'event' | 'call' | 'regime'>,
): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...data }
  const has = Object.entries(wanted).every(([field, value]) => value === undefined || fields[field] === value)
  return has && (event === undefined || event === type)
}

const formatPlace = (place: Place | undefined): string | null =>
  place === undefined ? null : `${place.revision}.${place.index}`

function parsePlace(text: string): Place {
  const match = /^(\d{1,15})\.(\d{1,6})$/.exec(text)
  if (match === null) {
    throw new ServiceError('invalid_request', { message: 'after: must be the `next` of an answer' })
  }
  return { revision: Number(match[1]), index: Number(match[2]) }
}

/** A delivery with all that was tried. */
interface ShownDelivery {
  readonly deliveryId: string
  readonly sequence: number
  readonly signal: Signal
  /** Oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** False where so much was recorded since that the newest attempts may be missing. */
  readonly isComplete: boolean
  /** The bytes that were or would have been sent, made again from the log, and their SHA-256. */
  readonly body: Buffer
  readonly bodySha256: string
}

/** @throws ServiceError `delivery_unknown`; `event_unreadable` where the body does not come out as it was sent. */
async function showDelivery(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  deliveryId: string,
): Promise<ShownDelivery> {
  const recordedAt = Number.parseInt(deliveryId.replaceAll('-', '').slice(0, 12), 16)
  const attempts: DeliveryAttempt[] = []
  let newest: NumberedDelivery | undefined
  let looked = 0
  // An id begins with the time of its signal, before which nothing was tried.
  const since = deliveriesSince(store, subscriptionId, ({ at }) => Date.parse(at) >= recordedAt)
  for await (const event of since) {
    looked += 1
    if (event.type !== 'DeliveriesAttempted') continue
    const { template, baseUrl } = event.data
    for (const attempt of event.data.attempts) {
      if (attempt.deliveryId !== deliveryId) continue
      attempts.push(attempt)
      newest = { ...attempt, template, baseUrl }
    }
  }
  if (newest === undefined) {
    throw new ServiceError('delivery_unknown', {
      message: `nothing was sent with the delivery id ${deliveryId.slice(0, 64)}`,
    })
  }
  const { signal, body, bodySha256, sequence } = await prepareAgain(store, newest)
  const sent = attempts.findLast((attempt) => attempt.sequence === sequence && attempt.bodySha256 !== null)
  if (sent !== undefined && sent.bodySha256 !== bodySha256) {
    throw new ServiceError('event_unreadable', {
      message: `delivery ${deliveryId} was sent with a body of SHA-256 ${sent.bodySha256}; made again it has ${bodySha256}`,
    })
  }
  return {
    deliveryId,
    sequence,
    signal,
    attempts,
    isComplete: looked < LIMITS.webhookScanEvents,
    body,
    bodySha256,
  }
}
