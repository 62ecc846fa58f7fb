/** Time as far as deadlines need it; apart from the wall clock, which may step. */
export interface SweepClock {
  /** Milliseconds since any fixed instant. */
  now(): number
  /** Calls again and again until what it returns is called; does not keep a process alive. */
  every(milliseconds: number, work: () => void): () => void
}

export const systemSweepClock: SweepClock = {
  now: () => performance.now(),
  every(milliseconds, work) {
    const timer = setInterval(work, milliseconds).unref()
    return () => clearInterval(timer)
  },
}

export interface Timed {
  /** By the clock of the sweep. */
  readonly startedAt: number
  /** Its place in the sweep. */
  place: number
}

/** How often is looked. */
export const SWEEP_EVERY_MS = 250

/**
 * Ends what takes too long, by one look at all of it now and then: a timer for each would cost a tenth of a core.
 *
 * @param limitMs how long an item may take; it has expired at the latest then, since the sweep looks early enough.
 * @param expire called once, with the item taken out.
 * @param onLook called with every look.
 */
export function createDeadlineSweep<Item extends Timed>(
  clock: SweepClock,
  limitMs: number,
  expire: (item: Item) => void,
  onLook: () => void = () => undefined,
) {
  // Not a set: one that so much comes into and leaves has a new table all the time, and once a collection takes a former
  // one for old, all that follow live as long, with what was in them.
  const items: (Item | undefined)[] = []
  const free: number[] = []
  let stop: (() => void) | undefined

  function remove(item: Item): void {
    if (items[item.place] !== item) return
    items[item.place] = undefined
    free.push(item.place)
  }

  function sweep(): void {
    onLook()
    const oldest = clock.now() + SWEEP_EVERY_MS - limitMs
    for (const item of items) {
      if (item === undefined || item.startedAt > oldest) continue
      remove(item)
      expire(item)
    }
    if (free.length < items.length) return
    stop?.()
    stop = undefined
  }

  return {
    add(item: Item): void {
      item.place = free.pop() ?? items.length
      items[item.place] = item
      stop ??= clock.every(SWEEP_EVERY_MS, sweep)
    },
    delete: remove,
    /** All that has neither ended nor expired. */
    items: () => items.filter((item) => item !== undefined),
  }
}
