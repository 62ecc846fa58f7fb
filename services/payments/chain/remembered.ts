import { RecentMap } from '../../runtime/cache/recent-map.ts'
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
  const entries = new RecentMap<string, { readonly value: Value; readonly until: number }>(most)
  return {
    get(key) {
      const entry = entries.get(key)
      return entry !== undefined && elapsed() < entry.until ? entry.value : undefined
    },
    put(key, value) {
      entries.set(key, { value, until: elapsed() + forMs })
    },
  }
}
