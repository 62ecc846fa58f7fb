export interface WindowOptions {
  /** Milliseconds; it need not be a clock. */
  readonly now: () => number
  readonly windowMs: number
  /** Past it the subjects seen longest ago are forgotten, and begin anew. */
  readonly maxSubjects: number
}

interface Counted {
  count: number
  readonly endsAt: number
}

/**
 * Counts in memory, without a timer: subjects live in two generations, of which the older one is dropped whole after
 * a window's length, when nothing in it can still count.
 */
export function createWindow({ now, windowMs, maxSubjects }: WindowOptions) {
  let young = new Map<string, Counted>()
  let old = new Map<string, Counted>()
  let turnsAt = now() + windowMs

  function turn(time: number): void {
    old = young
    young = new Map()
    turnsAt = time + windowMs
  }

  return {
    /** Counts once; the window begins with the first count and is not prolonged by later ones. */
    add(subject: string): { readonly count: number; readonly expiresInMs: number } {
      const time = now()
      // A clock that was set back would otherwise keep windows open until it has caught up.
      if (time >= turnsAt || turnsAt - time > windowMs || young.size >= maxSubjects / 2) turn(time)
      const known = young.get(subject) ?? old.get(subject)
      if (known !== undefined && known.endsAt > time && known.endsAt - time <= windowMs) {
        known.count += 1
        return { count: known.count, expiresInMs: known.endsAt - time }
      }
      young.set(subject, { count: 1, endsAt: time + windowMs })
      return { count: 1, expiresInMs: windowMs }
    },
    /** Subjects that take memory. */
    size: () => young.size + old.size,
  }
}
