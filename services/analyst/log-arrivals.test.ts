import { expect, test } from 'vitest'
import { START } from '../../contracts/position.ts'
import type { EventStore, SubscriptionItem } from '../platform/event-store/event-store.ts'
import { createLogArrivals } from './log-arrivals.ts'

test('waits that end with nothing leave nothing behind on what has not come yet', async () => {
  const coming = Promise.withResolvers<IteratorResult<SubscriptionItem, undefined>>()
  let reactions = 0
  const { then } = coming.promise
  Object.defineProperty(coming.promise, 'then', {
    value: (...handlers: Parameters<typeof then>) => {
      reactions += 1
      return then.apply(coming.promise, handlers)
    },
  })
  const store = { subscribe: () => ({ [Symbol.asyncIterator]: () => ({ next: () => coming.promise }) }) }
  const arrivals = createLogArrivals(store as unknown as EventStore, {
    after: START,
    filter: {},
    sleep: () => Promise.resolve(),
    signal: new AbortController().signal,
  })
  for (let look = 0; look < 100; look++) expect(await arrivals.take(250)).toEqual([])
  expect(reactions).toBe(1)
  coming.resolve({ done: true, value: undefined })
  await arrivals.ended()
  expect(await arrivals.take(250)).toBeUndefined()
})
