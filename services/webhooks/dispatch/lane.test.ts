import { expect, test } from 'vitest'
import { START } from '../../../contracts/position.ts'
import type { Subscription } from '../../../projections/index.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import { initialDeliveries } from '../deliveries/delivery-state.ts'
import type { Matched } from '../signals/signal.ts'
import { createLane, hasWork, type Lane, takeNext } from './lane.ts'

const subscription = { subscriptionId: 'one', state: 'active' } as Subscription

/** An endpoint with one new signal, whose deliveries that wait for another try leave room or not. */
function laneWith({ hasRoom }: { hasRoom: boolean }): Lane {
  const cursor = { after: START, sequence: 1 }
  const lane = createLane(subscription, { shard: 0, token: 0, cursor, at: 0 })
  const state = initialDeliveries({ startAfter: START })
  lane.journal = { state, hasRoom: () => hasRoom } as Partial<DeliveryJournal> as DeliveryJournal
  lane.queue.push({ sequence: 1 } as Matched)
  return lane
}

test('what waits behind too many open deliveries is no work, so that nobody asks for it again and again', () => {
  const full = laneWith({ hasRoom: false })
  expect(takeNext(full)).toBeUndefined()
  expect(hasWork(full)).toBe(false)
  full.replays.push({ item: { sequence: 9 } as Lane['replays'][number]['item'], tries: 0 })
  expect(hasWork(full)).toBe(true)
  expect(takeNext(full)).toMatchObject({ kind: 'replay' })
})

test('with room it is work', () => {
  const lane = laneWith({ hasRoom: true })
  expect(hasWork(lane)).toBe(true)
  expect(takeNext(lane)).toMatchObject({ kind: 'first' })
  expect(hasWork(lane)).toBe(false)
})
