import { ServiceError } from '../../../contracts/errors/errors.ts'
import type {
  DeliveryAttempt,
  DeliveryResult,
  OpenDelivery,
} from '../../../contracts/events/delivery-events.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { type MissedPage, type PullOptions, pullMissed } from './pull-missed.ts'
import { deliveriesBackwards, readDeliveries } from './read-deliveries.ts'

/** Three reads of what was sent. All are answered from the log alone. */
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
   * Signals of a subscription after a sequence that were tried, with the bodies they are sent with, whether they were
   * taken or not: a receiver that sees a hole asks for them. The page ends before the first that may not be pulled yet.
   *
   * @param query.after a sequence (`"41"`; `"0"` for the first), or `next` of the page before
   * @throws ServiceError `invalid_request` for another `after`
   */
  missed(
    subscription: Subscription,
    query: { readonly after: string; readonly limit: number },
  ): Promise<MissedPage>
}

/** @example const queries = createDeliveryQueries({ store, marketNow: Date.now }) */
export const createDeliveryQueries = (options: PullOptions): DeliveryQueries => ({
  attempts: (subscriptionId, query) => listAttempts(options, subscriptionId, query),
  async open(subscription) {
    const { open } = await readDeliveries(options.store, subscription)
    return [...open.values()].toSorted((a, b) => a.sequence - b.sequence)
  },
  missed: (subscription, query) => pullMissed(options, subscription, query),
})

interface AttemptsQuery {
  /** `next` of the page before. */
  readonly after?: string | undefined
  /** Rows, at most; `LIMITS.webhookRows` and no more. */
  readonly limit: number
  /** Only attempts that ended so. */
  readonly result?: DeliveryResult | undefined
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
  { store }: Pick<PullOptions, 'store'>,
  subscriptionId: string,
  { after, limit, result }: AttemptsQuery,
): Promise<Page<DeliveryAttempt>> {
  const before = after === undefined ? undefined : parsePlace(after)
  const most = Math.min(limit, LIMITS.webhookRows)
  const rows: DeliveryAttempt[] = []
  let looked = 0
  let last: Place | undefined
  for await (const recorded of deliveriesBackwards(store, subscriptionId, before?.revision)) {
    if (looked++ === LIMITS.webhookListEvents || rows.length === most)
      return { rows, next: formatPlace(last) }
    const attempts = recorded.type === 'DeliveriesAttempted' ? recorded.data.attempts : []
    const { revision } = recorded
    const end = before?.revision === revision ? Math.min(before.index, attempts.length) : attempts.length
    last = { revision, index: 0 }
    for (let index = end - 1; index >= 0; index--) {
      const attempt = attempts[index]
      if (attempt === undefined || (result !== undefined && attempt.result !== result)) continue
      last = { revision, index }
      rows.push(attempt)
      if (rows.length === most && index > 0) return { rows, next: formatPlace(last) }
    }
  }
  return { rows, next: null }
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
