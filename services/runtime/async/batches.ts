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
      next = iterator.next()
      await new Promise<void>((resolve) => {
        let isOver = false
        const end = (): void => {
          isOver = true
          resolve()
        }
        const gather = (): void => {
          // An error of the source is thrown by the next batch: this one is taken first.
          void (weight < max ? next.then(take, end) : handled(next))
          if (weight >= max) end()
        }
        const take = (result: IteratorResult<Item>): void => {
          if (isOver || result.done === true) return end()
          batch.push(result.value)
          weight += weightOf(result.value)
          next = iterator.next()
          gather()
        }
        // Everything that is ready now has its turn before that.
        setImmediate(end)
        gather()
      })
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
