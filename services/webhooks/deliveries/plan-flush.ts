import { assert } from '../../../contracts/assert.ts'
import {
  CursorMoved,
  DeliveriesAttempted,
  type DeliveryAttempt,
  type DeliveryCursor,
  type OpenDelivery,
} from '../../../contracts/delivery-events.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent } from '../../../contracts/event.ts'
import { builtEvent, newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions } from '../../../contracts/position.ts'
import {
  cursorAfter,
  type Deliveries,
  type DeliveryFact,
  evolveDeliveries,
  toSnapshot,
  withMove,
  withRecovered,
} from './delivery-state.ts'
import { placeIn } from './prepare-delivery.ts'
import type { Deliverable } from './read-deliveries.ts'

/** Attempts that are recorded together; their bodies were made with one template and one address. */
export interface AttemptsToRecord {
  readonly template: number
  readonly baseUrl: string
  readonly attempts: readonly DeliveryAttempt[]
}

/** Events to append at the revision of a state, and the state they lead to. */
export interface Plan {
  readonly events: readonly NewEvent[]
  readonly after: Deliveries
}

export interface PlanContext {
  readonly subscriptionId: string
  readonly token: number
  readonly newId: () => string
}

type Data<Type> = Extract<DeliveryFact, { readonly type: Type }>['data']
type PlannedFact =
  | { readonly type: 'DeliveriesAttempted'; readonly data: Data<'DeliveriesAttempted'> }
  | { readonly type: 'CursorMoved'; readonly data: Data<'CursorMoved'> }

/** The plan that goes on with one more event. */
function behindPlan(before: Plan, fact: PlannedFact, { newId, subscriptionId }: PlanContext): Plan {
  const meta = { correlationId: `subscription ${subscriptionId}`, actor: 'dispatcher' }
  const event =
    fact.type === 'CursorMoved'
      ? newEvent(CursorMoved, { id: newId(), data: fact.data, meta })
      : eventOf(fact.data, { id: newId(), meta })
  const { revision } = before.after
  const place = { revision: revision === 'no-stream' ? 0 : revision + 1 }
  return { events: [...before.events, event], after: evolveDeliveries(before.after, { ...fact, ...place }) }
}

/** Without a detail, all but the status of an attempt is ours; a detail holds words of the receiver, and is checked. */
const eventOf = (data: Data<'DeliveriesAttempted'>, place: Pick<NewEvent, 'id' | 'meta'>): NewEvent =>
  (data.attempts.every(({ detail }) => detail === null) ? builtEvent : newEvent)(DeliveriesAttempted, {
    data,
    ...place,
  })

/**
 * The events for attempts that came together: neighbours whose bodies were made alike share one.
 *
 * @throws ServiceError `internal_error` where more would be open than may be: who sends must stop before.
 */
export function planAttempts(
  from: Deliveries,
  records: readonly AttemptsToRecord[],
  context: PlanContext,
): Plan {
  const { subscriptionId, token } = context
  let plan: Plan = { events: [], after: from }
  for (const { template, baseUrl, attempts } of alike(records)) {
    const cursor = cursorAfter(plan.after, attempts, { template, baseUrl })
    assert(attempts.length <= LIMITS.webhookAttemptsPerEvent, 'an event has few attempts', attempts.length)
    assert(cursor.sequence >= plan.after.cursor.sequence, 'attempts move a cursor on', cursor.sequence)
    const data = { subscriptionId, token, template, baseUrl, cursor, attempts }
    plan = behindPlan(plan, { type: 'DeliveriesAttempted', data }, context)
  }
  const open = plan.after.open.size
  const most = LIMITS.webhookOpenDeliveries + LIMITS.webhookAttemptsAtOnce
  if (open > most) {
    throw new ServiceError('internal_error', {
      message: `${open} deliveries of subscription ${subscriptionId} would wait for another try; ${most} may`,
    })
  }
  return plan
}

/** Joins neighbours with one template and one address, as many as an event takes. */
function alike(records: readonly AttemptsToRecord[]) {
  const joined: (AttemptsToRecord & { readonly attempts: DeliveryAttempt[] })[] = []
  for (const { template, baseUrl, attempts } of records) {
    const last = joined.at(-1)
    const isAlike = last?.template === template && last.baseUrl === baseUrl
    if (isAlike && last.attempts.length + attempts.length <= LIMITS.webhookAttemptsPerEvent)
      last.attempts.push(...attempts)
    else joined.push({ template, baseUrl, attempts: [...attempts] })
  }
  return joined
}

/** The whole state in one event, so that what came before need not be read again. */
export function planSnapshot(from: Deliveries, to: Deliveries, context: PlanContext): Plan {
  const { subscriptionId, token } = context
  const data = { subscriptionId, token, state: toSnapshot(to) }
  return behindPlan({ events: [], after: from }, { type: 'CursorMoved', data }, context)
}

/** The cursor further on, through a stretch of the log that had nothing for the subscription. */
export function planAdvance(
  from: Deliveries,
  cursor: DeliveryCursor,
  context: PlanContext,
): Plan | undefined {
  const isBehind = comparePositions(cursor.after, from.cursor.after) > 0
  // With another number, something in between was not attempted yet, and the cursor must stay before it.
  if (cursor.sequence !== from.cursor.sequence || !isBehind) return undefined
  return planSnapshot(from, { ...from, cursor }, context)
}

/**
 * The cursor where the owner moved it to; what was to be tried again is recorded as skipped.
 *
 * @param underWay numbers of deliveries that are being sent, which no other signal is given
 */
export function planMove(
  from: Deliveries,
  { moved, underWay }: Pick<Deliverable, 'moved'> & { readonly underWay: Iterable<number> },
  now: number,
  context: PlanContext,
): Plan | undefined {
  if (withMove(from, { moved }) === from) return undefined
  const open = [...from.open.values()].map((delivery): AttemptsToRecord => {
    const place = { ...placeIn(delivery), attempt: delivery.attempt }
    const nothingSent = { status: null, detail: null, bodySha256: null, nextAt: null, notBefore: null }
    const skipped = {
      ...place,
      ...nothingSent,
      at: now,
      durationMs: 0,
      hostWaitMs: 0,
      reason: 'cursor_moved',
    }
    return { ...delivery, attempts: [{ ...skipped, result: 'skipped' }] }
  })
  const given = planAttempts(from, open, context)
  const then = planSnapshot(given.after, withMove(given.after, { moved }, underWay), context)
  for (const sequence of underWay)
    assert(sequence < then.after.cursor.sequence, 'a number under way is given to no other signal', sequence)
  assert(then.after.open.size === 0, 'a moved cursor gives up what was open', then.after.open.size)
  return { events: [...given.events, ...then.events], after: then.after }
}

/** Deliveries that were given up, waiting for another try from now on; undefined where that was done before. */
export function planRecovery(
  from: Deliveries,
  { exhausted, revision }: { readonly exhausted: readonly OpenDelivery[]; readonly revision: number },
  nextAt: number,
  context: PlanContext,
): Plan | undefined {
  if (revision <= (from.recoveredBy ?? -1)) return undefined
  return planSnapshot(from, withRecovered(from, exhausted, { recoveredBy: revision, nextAt }), context)
}
