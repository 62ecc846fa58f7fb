import { expect, test } from 'vitest'
import { START } from '../../contracts/position.ts'
import type { EventStore, SubscriptionItem } from '../log/event-store.ts'
import { createLogArrivals } from './log-arrivals.ts'

/** Counts what waits for it. */
class CountedPromise<Value> extends Promise<Value> {
  static reactions = 0
  // oxlint-disable-next-line unicorn/no-thenable -- a promise that counts
  override then<A = Value, B = never>(
    onValue?: ((value: Value) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    CountedPromise.reactions += 1
    return super.then(onValue, onError)
  }
}

test('waits that end with nothing leave nothing behind on what has not come yet', async () => {
  let arrive: (result: IteratorResult<SubscriptionItem, undefined>) => void = () => undefined
  const coming = new CountedPromise<IteratorResult<SubscriptionItem, undefined>>((resolve) => {
    arrive = resolve
  })
  const store = { subscribe: () => ({ [Symbol.asyncIterator]: () => ({ next: () => coming }) }) }
  const arrivals = createLogArrivals(store as unknown as EventStore, {
    after: START,
    filter: {},
    sleep: () => Promise.resolve(),
    signal: new AbortController().signal,
  })
  for (let look = 0; look < 100; look++) expect(await arrivals.take(250)).toEqual([])
  expect(CountedPromise.reactions).toBe(1)
  arrive({ done: true, value: undefined })
  await arrivals.ended()
  expect(await arrivals.take(250)).toBeUndefined()
})
