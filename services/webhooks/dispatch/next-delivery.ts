import { LIMITS } from '../../../contracts/limits.ts'
import type { Deliveries } from '../deliveries/delivery-state.ts'
import type { Matched } from '../signals/signal.ts'
import { isFailing, oldestTried, retryInMs } from './delivery-policy.ts'

/** Attempts of one endpoint that are sent or recorded; past it the log is too slow for more. */
const MOST_UNDER_WAY = 64

/** The next delivery of an endpoint: a new signal, or one that is tried again. */
export interface NextDelivery {
  readonly sequence: number
  /** Undefined for a retry. */
  readonly matched: Matched | undefined
}

/** The endpoint that asks. */
export interface Asking {
  readonly deliveries: Deliveries
  readonly inOrder: boolean
  /** It fails, or takes long. */
  readonly isSlow: boolean
  /** Numbers of deliveries that are sent or recorded. */
  readonly inFlight: ReadonlySet<number>
  /** Attempts that are being sent. */
  readonly sending: number
  /** Wall clock, Unix milliseconds. */
  readonly now: number
  /** The next new signal; undefined without one. */
  readonly newest: () => Matched | undefined
}

/** @returns what may begin now; otherwise in how many milliseconds a retry is due, which may be never */
export function nextDelivery(asking: Asking): NextDelivery | number {
  const { deliveries, inOrder, isSlow, inFlight, sending, newest } = asking
  const { open, failuresInARow } = deliveries
  const isProbe = isFailing(deliveries)
  const mostAtOnce = isSlow ? 1 : LIMITS.webhookAttemptsPerEndpoint
  const isBusy = inFlight.size > 0 && (inOrder || isProbe)
  if (isBusy || sending >= mostAtOnce || inFlight.size >= MOST_UNDER_WAY) return Number.POSITIVE_INFINITY
  const retry = isProbe ? probe(asking) : dueRetry(asking)
  if (inOrder && open.size > 0) return retry
  const isFull = open.size + inFlight.size >= LIMITS.webhookOpenDeliveries
  // Every other probe is for something new: the endpoint may have refused only the body.
  const isNewsTurn = typeof retry === 'number' || (isProbe && failuresInARow % 2 === 1)
  const matched = isNewsTurn && !isFull ? newest() : undefined
  return matched === undefined ? retry : { sequence: matched.sequence, matched }
}

const retryOf = (sequence: number | undefined): NextDelivery | number =>
  sequence === undefined ? Number.POSITIVE_INFINITY : { sequence, matched: undefined }

const firstOf = (open: Deliveries['open']): number | undefined =>
  open.size === 0 ? undefined : Math.min(...open.keys())

const probe = ({ deliveries: { open }, inOrder }: Asking): NextDelivery | number =>
  retryOf(inOrder ? firstOf(open) : oldestTried(open))

/** A retry that is due: where the owner wants order only the first of all that wait. */
function dueRetry({ deliveries: { open }, inOrder, inFlight, now }: Asking): NextDelivery | number {
  const first = inOrder ? firstOf(open) : undefined
  let soonestMs = Number.POSITIVE_INFINITY
  for (const [sequence, delivery] of open) {
    if (inFlight.has(sequence) || (inOrder && sequence !== first)) continue
    const inMs = retryInMs(delivery, now)
    if (inMs === 0) return retryOf(sequence)
    soonestMs = Math.min(soonestMs, inMs)
  }
  return soonestMs
}
