/** Ids kept in one generation; with more than that within a window, the oldest are forgotten early. */
const GENERATION_IDS = 131_072

export interface RecentIds {
  /** Whether the id was seen within the window (at most two of them); remembers it. */
  seen(id: string): boolean
}

/** Remembers ids for at least a window, in two generations, so that forgetting costs nothing per id. */
export function createRecentIds(options: {
  readonly now: () => number
  readonly windowMs: number
}): RecentIds {
  const { now, windowMs } = options
  let current = new Set<string>()
  let previous = new Set<string>()
  let turnedAtMs = now()

  return {
    seen(id) {
      const ageMs = now() - turnedAtMs
      if (ageMs >= windowMs || current.size >= GENERATION_IDS) {
        previous = ageMs >= 2 * windowMs ? new Set() : current
        current = new Set()
        turnedAtMs = now()
      }
      if (current.has(id) || previous.has(id)) return true
      current.add(id)
      return false
    },
  }
}
