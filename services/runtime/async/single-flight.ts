/** Work that was done for one request, and whether another one with the same key began it. */
export interface Flight<Value> {
  readonly value: Value
  readonly isShared: boolean
}

/** Does the work of requests with one key once, however many of them come while it goes on. */
export function createSingleFlight<Value>() {
  const underWay = new Map<string, { readonly fingerprint: string; readonly outcome: Promise<Value> }>()

  return {
    /**
     * The first of a key works, and others of the same fingerprint share its outcome. One of another fingerprint waits for
     * its end and then works itself: a request that failed has recorded nothing.
     */
    async run(key: string, fingerprint: string, work: () => Promise<Value>): Promise<Flight<Value>> {
      for (let first = underWay.get(key); first !== undefined; first = underWay.get(key)) {
        if (first.fingerprint === fingerprint) return { value: await first.outcome, isShared: true }
        await first.outcome.then(ignore, ignore)
      }
      // Nothing is awaited between the look and this: there is one at a time.
      const outcome = work()
      underWay.set(key, { fingerprint, outcome })
      try {
        return { value: await outcome, isShared: false }
      } finally {
        underWay.delete(key)
      }
    },
    /** Keys under way. */
    get size() {
      return underWay.size
    },
  }
}

/** Its callers receive the error. */
const ignore = (): void => undefined
