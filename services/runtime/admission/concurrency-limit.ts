/** Does so much at a time; what is more waits for its turn. */
export type ConcurrencyLimit = <Value>(work: () => Promise<Value>) => Promise<Value>

/** @param most pieces of work under way */
export function createConcurrencyLimit(most: number): ConcurrencyLimit {
  let free = most
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      // The place goes from hand to hand, so that nobody who comes just now takes it first.
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
