/** Payments that are to be looked at, each at its time. */
export interface Agenda {
  /** Puts a payment at a time, also one that stands at another. */
  put(stream: string, at: number): void
  /** Takes those off whose time has come, the earliest first. */
  take(now: number, most: number): string[]
  delete(stream: string): void
  /** Milliseconds until the next one; undefined where there is none. */
  nextIn(now: number): number | undefined
}

export function createAgenda(): Agenda {
  const times = new Map<string, number>()
  return {
    put: (stream, at) => void times.set(stream, at),
    take(now, most) {
      const due = [...times].filter(([, at]) => at <= now).toSorted(([, one], [, other]) => one - other)
      const taken = due.slice(0, most).map(([stream]) => stream)
      for (const stream of taken) times.delete(stream)
      return taken
    },
    delete: (stream) => void times.delete(stream),
    nextIn(now) {
      if (times.size === 0) return undefined
      let earliest = Number.POSITIVE_INFINITY
      for (const at of times.values()) earliest = Math.min(earliest, at)
      return Math.max(0, earliest - now)
    },
  }
}
