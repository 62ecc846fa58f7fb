import { decodeEvent } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { deliveryStream, subscriptionStream } from '../../../contracts/events/streams.ts'
import { SubscriptionChanged, SubscriptionCreated } from '../../../contracts/events/subscription-events.ts'
import { START } from '../../../contracts/infra/position.ts'
import type { FaultyWorld } from '../../../testing/event-store/faulty-store.fixture.ts'
import type { EventStore } from '../../log/event-store.ts'
import { describeWritePath } from '../../log/write-path.contract.ts'
import { openDeliveryLogs } from '../deliveries/delivery-log.ts'
import { aFilter } from '../signals/testing/signal-log.fixture.ts'
import { evolveSubscription, type Subscription } from '../state/subscription-state.ts'
import { createEndpointLog } from './endpoint-log.ts'

const subscriptionId = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c57'
const META = { correlationId: 'given', actor: 'test' }
const FILTER = aFilter()

/** A subscription that is in the log. */
async function subscribed({ others, newId }: FaultyWorld): Promise<Subscription> {
  const data = {
    subscriptionId,
    accountId: '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c55',
    generation: 1,
    sealedUrl: 'sealed',
    sending: { perSecond: null, inOrder: false },
    sealedSecret: 'sealed',
    filter: FILTER,
    startAfter: START,
  }
  const stream = subscriptionStream(subscriptionId)
  const event = newEvent(SubscriptionCreated, { id: newId(), data, meta: META })
  await others.append(stream, [event], { expected: 'no-stream' })
  for await (const recorded of others.read(stream)) {
    const subscription = evolveSubscription(undefined, decodeEvent(recorded))
    if (subscription !== undefined) return subscription
  }
  throw new Error('the subscription is not in the log')
}

async function countOf(store: EventStore, stream: string, type: string): Promise<number> {
  let count = 0
  for await (const event of store.read(stream)) if (event.type === type) count += 1
  return count
}

const partsOf = (world: FaultyWorld, store: EventStore) => ({
  ...world,
  store,
  signal: world.ending.signal,
})

describeWritePath(
  'what the dispatcher says of an endpoint',
  { isBounded: false, onConflict: 'decides anew' },
  async (world) => {
    const subscription = await subscribed(world)
    const stream = subscriptionStream(subscriptionId)
    const log = createEndpointLog(partsOf(world, world.store))
    return {
      write: () => log.disable(subscription, 'answered 410 Gone'),
      recorded: () => countOf(world.others, stream, 'SubscriptionDisabled'),
      interfere: () => {
        const data = { subscriptionId, filter: FILTER }
        const event = newEvent(SubscriptionChanged, { id: world.newId(), data, meta: META })
        return world.others.append(stream, [event], { expected: subscription.revision })
      },
    }
  },
)

describeWritePath(
  'a subscription that is taken over',
  { isBounded: false, onConflict: 'decides anew' },
  async (world) => {
    const subscription = await subscribed(world)
    const take = (store: EventStore, token: number) =>
      openDeliveryLogs(partsOf(world, store)).take(subscription, token, `process ${token}`)
    return {
      // Whoever holds the lease takes the subscription once.
      write: async () => ((await taken(world, 7)) === 0 ? take(world.store, 7) : undefined),
      recorded: () => taken(world, 7),
      interfere: () => take(world.others, 6),
    }
  },
)

async function taken(world: FaultyWorld, token: number): Promise<number> {
  let count = 0
  for await (const { data } of world.others.read(deliveryStream(subscriptionId)))
    if (data['token'] === token) count += 1
  return count
}
