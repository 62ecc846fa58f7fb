import { subscriptionStream } from '../../../contracts/events/streams.ts'
import type { FaultyWorld } from '../../../testing/event-store/faulty-store.fixture.ts'
import type { EventStore } from '../../log/event-store.ts'
import { describeWritePath } from '../../log/write-path.contract.ts'
import type { SubscriptionFact } from './decide-subscription.ts'
import { createSubscriptionLog, type SubscriptionLog } from './subscription-log.ts'

const ID = '5f0c2d7e-91ab-8c34-a6d2-07e4b8139c57'
const ORIGIN = { correlationId: 'request', actor: 'test' }

const logOver = (world: FaultyWorld, store: EventStore): SubscriptionLog =>
  createSubscriptionLog({ ...world, store, signal: world.ending.signal })

async function countOf(world: FaultyWorld, reason: string): Promise<number> {
  let count = 0
  for await (const { data } of world.others.read(subscriptionStream(ID)))
    if (data['reason'] === reason) count += 1
  return count
}

const removed = (reason: string): SubscriptionFact => ({
  type: 'SubscriptionRemoved',
  data: { subscriptionId: ID, reason },
})

describeWritePath('a subscription that begins', { isBounded: true, onConflict: 'yields' }, async (world) => {
  const log = logOver(world, world.store)
  const eventId = world.newId()
  return {
    write: () => log.begin(ID, ORIGIN, removed('ours'), eventId),
    recorded: () => countOf(world, 'ours'),
    interfere: () => logOver(world, world.others).begin(ID, ORIGIN, removed('theirs'), world.newId()),
  }
})

describeWritePath(
  'a subscription that changes',
  { isBounded: true, onConflict: 'decides anew' },
  async (world) => {
    const log = logOver(world, world.store)
    const once = async (of: SubscriptionLog, reason: string) =>
      of.execute(ID, ORIGIN, async () => ((await countOf(world, reason)) === 0 ? [removed(reason)] : []))
    return {
      write: () => once(log, 'ours'),
      recorded: () => countOf(world, 'ours'),
      interfere: () => once(logOver(world, world.others), 'theirs'),
    }
  },
)
