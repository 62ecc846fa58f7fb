import type { DeliveryAttempt, DeliveryResult } from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import { deliveriesBackwards } from './read-deliveries.ts'

export interface AttemptsQuery {
  /** `next` of the page before. */
  readonly after?: string | undefined
  /** Rows, at most; `LIMITS.webhookRows` and no more. */
  readonly limit: number
  /** Only attempts that ended so. */
  readonly result?: DeliveryResult | undefined
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  /** Where to go on; null at the end. A page may have fewer rows than asked for, or none, and go on. */
  readonly next: string | null
}

/** An attempt's place: the revision of its event, and where it stands in it. */
interface Place {
  readonly revision: number
  readonly index: number
}

/** Attempts of a subscription, newest first, from behind the one that `after` names. */
export async function listAttempts(
  store: Pick<EventStore, 'read'>,
  subscriptionId: string,
  { after, limit, result }: AttemptsQuery,
): Promise<Page<DeliveryAttempt>> {
  const before = after === undefined ? undefined : parsePlace(after)
  const most = Math.min(limit, LIMITS.webhookRows)
  const rows: DeliveryAttempt[] = []
  let looked = 0
  let last: Place | undefined
  for await (const event of deliveriesBackwards(store, subscriptionId, before?.revision)) {
    if (looked++ === LIMITS.webhookScanEvents || rows.length === most)
      return { rows, next: formatPlace(last) }
    const attempts = event.type === 'DeliveriesAttempted' ? event.data.attempts : []
    const { revision } = event
    const end = before?.revision === revision ? Math.min(before.index, attempts.length) : attempts.length
    last = { revision, index: 0 }
    for (let index = end - 1; index >= 0; index--) {
      const attempt = attempts[index]
      if (attempt === undefined || (result !== undefined && attempt.result !== result)) continue
      rows.push(attempt)
      last = { revision, index }
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
