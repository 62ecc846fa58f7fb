/**
 * Gathers what an async iterable has ready into arrays, without waiting for more: under load one array holds
 * many items, and a lone item is passed on at once.
 *
 * @param max an array is full when its items weigh so much together; the last one may weigh more.
 * @param weightOf what an item weighs; 1 by default.
 *
 * Leaving the iteration asks the source to end and does not wait for it: a source that sleeps would answer
 * only when it wakes.
 */
export async function* batchesOf<Item>(
  items: AsyncIterable<Item>,
  max: number,
  weightOf: (item: Item) => number = () => 1,
): AsyncGenerator<Item[], void, void> {
  const iterator = items[Symbol.asyncIterator]()
  let next = handled(iterator.next())
  try {
    while (true) {
      const first = await next
      if (first.done === true) return
      const batch = [first.value]
      let weight = weightOf(first.value)
      next = handled(iterator.next())
      while (weight < max) {
        const ready = await Promise.race([next, later()])
        // What the source fails with is thrown where the next batch begins, after this one was taken.
        if (ready === undefined || ready.done === true) break
        batch.push(ready.value)
        weight += weightOf(ready.value)
        next = handled(iterator.next())
      }
      yield batch
    }
  } finally {
    const ended = iterator.return?.()
    if (ended !== undefined) void handled(ended)
  }
}

/** A promise whose rejection may be looked at later, or never, without counting as unhandled meanwhile. */
function handled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.then(undefined, () => undefined)
  return promise
}

/** Resolves after everything that is ready now has had its turn. */
const later = (): Promise<undefined> => new Promise((resolve) => setImmediate(() => resolve(undefined)))
