/** Does so much at a time; what is more waits, and its owners take turns. */
export type ConcurrencyLimit = <Value>(owner: string, work: () => Promise<Value>) => Promise<Value>

/** @param most pieces of work under way */
export function createConcurrencyLimit(most: number): ConcurrencyLimit {
  let free = most
  /** By owner; the one whose turn is next comes first. */
  const waiting = new Map<string, (() => void)[]>()

  /** The slot goes from hand to hand, so that nobody who comes just now takes it first. */
  function passOn(): void {
    const [next] = waiting
    if (next === undefined) {
      free += 1
      return
    }
    const [owner, [begin, ...others]] = next
    waiting.delete(owner)
    if (others.length > 0) waiting.set(owner, others)
    begin?.()
  }

  return async (owner, work) => {
    if (free > 0) free -= 1
    else {
      await new Promise<void>((resolve) => {
        const own = waiting.get(owner)
        if (own === undefined) waiting.set(owner, [resolve])
        else own.push(resolve)
      })
    }
    try {
      return await work()
    } finally {
      passOn()
    }
  }
}
