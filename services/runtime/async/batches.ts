/**
 * Gathers what an iterable has ready into arrays of at most `max` weight, without waiting for more. Leaving the
 * iteration does not wait for the source, which may be asleep.
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
      const allHadTheirTurn = later()
      while (weight < max) {
        const ready = await Promise.race([next, allHadTheirTurn])
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
