/**
 * One value for every caller within a time. A failure is forgotten, so that the next caller computes anew.
 *
 * @example const readiness = memoizeFor(1_000, () => askAllParts())
 */
export function memoizeFor<Value>(ttlMs: number, compute: () => Value): () => Value {
  let known: { readonly value: Value; readonly until: number } | undefined
  return () => {
    if (known !== undefined && performance.now() < known.until) return known.value
    const fresh = { value: compute(), until: performance.now() + ttlMs }
    known = fresh
    if (fresh.value instanceof Promise)
      fresh.value.catch(() => {
        if (known === fresh) known = undefined
      })
    return fresh.value
  }
}
