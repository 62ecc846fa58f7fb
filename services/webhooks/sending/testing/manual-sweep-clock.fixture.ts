import type { SweepClock } from '../deadline-sweep.ts'

/** A clock of the sweep that goes when it is told to. */
export interface ManualSweepClock extends SweepClock {
  advance(milliseconds: number): void
  /** How many calls are asked for again and again. */
  timers(): number
}

export function createManualSweepClock(): ManualSweepClock {
  let now = 0
  const timers = new Set<{ next: number; readonly every: number; readonly work: () => void }>()
  return {
    now: () => now,
    every(milliseconds, work) {
      const timer = { next: now + milliseconds, every: milliseconds, work }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    advance(milliseconds) {
      const end = now + milliseconds
      for (;;) {
        const [due] = [...timers].filter(({ next }) => next <= end).toSorted((a, b) => a.next - b.next)
        if (due === undefined) break
        now = due.next
        due.next += due.every
        due.work()
      }
      now = end
    },
    timers: () => timers.size,
  }
}
