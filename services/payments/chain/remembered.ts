/** Answers that are good for a while. */
export interface Remembered<Value> {
  get(key: string): Value | undefined
  put(key: string, value: Value): void
}

/** @param elapsed milliseconds of a clock that nobody sets; @param most entries kept, the oldest are forgotten first */
export function createRemembered<Value>(
  forMs: number,
  most: number,
  elapsed: () => number,
): Remembered<Value> {
  const entries = new Map<string, { readonly value: Value; readonly until: number }>()
  return {
    get(key) {
      const entry = entries.get(key)
      return entry !== undefined && elapsed() < entry.until ? entry.value : undefined
    },
    put(key, value) {
      // At the end of the order again, so that the first entry is the one that was put longest ago.
      entries.delete(key)
      entries.set(key, { value, until: elapsed() + forMs })
      const [oldest] = entries.keys()
      if (entries.size > most && oldest !== undefined) entries.delete(oldest)
    },
  }
}
