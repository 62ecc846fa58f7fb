import { setImmediate } from 'node:timers/promises'
import { CursorTaken } from '../../../contracts/delivery-events.ts'
import { isServiceError, ServiceError } from '../../../contracts/errors.ts'
import type { NewEvent } from '../../../contracts/event.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { deliveryStream } from '../../../contracts/streams.ts'
import { appendWithRetry, CONFLICTS, type LogUse, RETRY_IN_BACKGROUND } from '../../log/append-with-retry.ts'
import { DeliveryJournal } from './delivery-journal.ts'
import { type Deliveries, evolveDeliveries, toSnapshot, withMove } from './delivery-state.ts'
import type { Plan } from './plan-flush.ts'
import { type Deliverable, readDeliveries } from './read-deliveries.ts'

/** The delivery logs of all subscriptions: what was sent, what came of it, and what is still to be done. */
export interface DeliveryLog {
  /**
   * The deliveries of a subscription as anybody may see them: its newest state, with the cursor where its owner
   * moved it to.
   */
  load(subscription: Deliverable): Promise<Deliveries>
  /**
   * Takes a subscription over. From then on the log refuses each append of a former holder, because it
   * names a revision that has passed.
   *
   * @param token of the lease under which it is taken; rises whenever the work changes hands
   * @param holder names this process
   * @throws ServiceError `lease_lost` where somebody took it under a higher token; those of the store.
   */
  take(subscription: Deliverable, token: number, holder: string): Promise<DeliveryJournal>
}

/**
 * @example
 * const log = openDeliveryLog({ store, newId, now: Date.now, sleep, signal })
 * const journal = await log.take(subscription, lease.token, holder)
 * await journal.record({ template, baseUrl, attempts: [attempt] }) // durable
 */
export function openDeliveryLog({ store, newId, now, sleep, signal }: LogUse): DeliveryLog {
  const path = { store, now, sleep, signal, policy: RETRY_IN_BACKGROUND }

  /** @throws ServiceError a conflict where something else has the place; those of the store once this process ends */
  async function append(
    subscriptionId: string,
    events: readonly NewEvent[],
    expected: Deliveries['revision'],
  ): Promise<void> {
    const stream = deliveryStream(subscriptionId)
    const outcome = await appendWithRetry(path, { stream, events, expected })
    if (outcome.kind !== 'appended') throw outcome.error
  }

  async function takeAt(
    { subscriptionId }: Deliverable,
    before: Deliveries,
    token: number,
    holder: string,
  ): Promise<Deliveries> {
    const data = { subscriptionId, token, holder, state: toSnapshot(before) }
    const meta = { correlationId: `subscription ${subscriptionId}`, actor: 'dispatcher' }
    await append(subscriptionId, [newEvent(CursorTaken, { id: newId(), data, meta })], before.revision)
    const revision = before.revision === 'no-stream' ? 0 : before.revision + 1
    return evolveDeliveries(before, { type: 'CursorTaken', data, revision })
  }

  return {
    load: async (subscription) => withMove(await readDeliveries(store, subscription), subscription),
    async take(subscription, token, holder) {
      const { subscriptionId } = subscription
      for (let races = 0; races < CONFLICTS.most; races++) {
        const before = await readDeliveries(store, subscription)
        if (before.token > token) throw leaseLostError(subscriptionId, token, before.token)
        let state: Deliveries
        try {
          state = await takeAt(subscription, before, token, holder)
        } catch (error) {
          if (!isOvertaken(error)) throw error
          await setImmediate()
          continue
        }
        const journal = new DeliveryJournal({
          subscriptionId,
          token,
          state,
          newId,
          now,
          async append(plan, expected) {
            try {
              await append(subscriptionId, plan.events, expected)
              return undefined
            } catch (error) {
              if (!isOvertaken(error)) throw error
              const newest = await readDeliveries(store, subscription)
              if (newest.token > token) throw leaseLostError(subscriptionId, token, newest.token)
              // Nobody took it: the place is our own, or what has it came from this very holding.
              return (await isThere(store, subscriptionId, plan)) ? undefined : newest
            }
          },
        })
        await journal.move(subscription)
        return journal
      }
      throw new ServiceError('store_unavailable', {
        message: `subscription ${subscriptionId} could not be taken: its log changed ${CONFLICTS.most} times meanwhile`,
      })
    },
  }
}

/** Whether planned events are in the log at their revisions, also after an append that failed. */
async function isThere(
  store: LogUse['store'],
  subscriptionId: string,
  { events, after }: Plan,
): Promise<boolean> {
  const from = Number(after.revision) - events.length + 1
  const found = await Array.fromAsync(
    store.read(deliveryStream(subscriptionId), { from, limit: events.length }),
  )
  const ids = found.filter(({ revision }) => revision >= from).map(({ id }) => id)
  return ids.length === events.length && events.every(({ id }, index) => id === ids[index])
}

/** An append that names a revision cannot happen any more once another event is in its place. */
const isOvertaken = (error: unknown): boolean =>
  isServiceError(error, 'revision_conflict') || isServiceError(error, 'idempotency_conflict')

const leaseLostError = (subscriptionId: string, token: number, newest: number): ServiceError =>
  new ServiceError('lease_lost', {
    message: `subscription ${subscriptionId} was taken under token ${newest}; this process holds ${token}`,
  })
