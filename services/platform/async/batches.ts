/**
 * Gathers what an async iterable has ready into arrays, up to `max` at a time, without waiting for more:
 * under load one array holds many items, and a lone item is passed on at once.
 */
export async function* batchesOf<Item>(
  items: AsyncIterable<Item>,
  max: number,
): AsyncGenerator<Item[], void, void> {
  const iterator = items[Symbol.asyncIterator]()
  let next = iterator.next()
  try {
    while (true) {
      const first = await next
      if (first.done === true) return
      const batch = [first.value]
      next = iterator.next()
      let isDone = false
      while (batch.length < max) {
        const ready = await Promise.race([next, later()])
        if (ready === undefined) break
        if (ready.done === true) {
          isDone = true
          break
        }
        batch.push(ready.value)
        next = iterator.next()
      }
      yield batch
      if (isDone) return
    }
  } finally {
    await iterator.return?.()
  }
}

/** Resolves after everything that is ready now has had its turn. */
const later = (): Promise<undefined> => new Promise((resolve) => setImmediate(() => resolve(undefined)))
