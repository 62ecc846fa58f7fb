/**
 * Keeps what was made for a while: what costs much and changes slowly is made once for all who ask meanwhile.
 *
 * @param keys as many are kept at most; a further one empties the rest
 * @example const figures = keptByKey(10_000, (timeframe) => count(timeframe))
 */
export function keptByKey<Value>(
  keptMs: number,
  make: (key: string) => Value,
  { keys = 64, now = () => performance.now() }: { readonly keys?: number; readonly now?: () => number } = {},
): (key: string) => Value {
  const kept = new Map<string, { readonly until: number; readonly value: Value }>()
  return (key) => {
    const at = now()
    const known = kept.get(key)
    if (known !== undefined && at < known.until) return known.value
    const value = make(key)
    if (kept.size >= keys) kept.clear()
    kept.set(key, { until: at + keptMs, value })
    return value
  }
}
