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
}

/** How often is looked. */
export const SWEEP_EVERY_MS = 250

/**
 * Ends what takes too long, by one look at all of it now and then: a timer for each would cost a tenth of a core. Items
 * are added in the order of their starts.
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
  // All have the same limit, so the oldest are the first to expire, and a look ends at the first that has time.
  const items = new Set<Item>()
  let stop: (() => void) | undefined

  function sweep(): void {
    onLook()
    const oldest = clock.now() + SWEEP_EVERY_MS - limitMs
    for (const item of items) {
      if (item.startedAt > oldest) break
      items.delete(item)
      expire(item)
    }
    if (items.size === 0) {
      stop?.()
      stop = undefined
    }
  }

  return {
    add(item: Item): void {
      items.add(item)
      stop ??= clock.every(SWEEP_EVERY_MS, sweep)
    },
    delete: (item: Item): void => void items.delete(item),
  }
}
