/** Sleepers by a clock that a test moves. */
export interface Sleepers {
  /** Resolves once the clock has come so far, or with the signal. */
  sleepUntil(until: number, signal: AbortSignal): Promise<void>
  /** @returns takes it back */
  callAt(until: number, work: () => void): () => void
  /** Wakes whoever is due when the clock shows this. */
  wake(now: number): void
  /** When the first is due; infinity where nobody sleeps. */
  earliest(): number
  wakeFirst(): void
  count(): number
}

export function createSleepers(): Sleepers {
  const asleep = new Set<{ readonly until: number; readonly wake: () => void }>()
  function callAt(until: number, work: () => void): () => void {
    const sleeper = {
      until,
      wake: () => {
        asleep.delete(sleeper)
        work()
      },
    }
    asleep.add(sleeper)
    return () => void asleep.delete(sleeper)
  }
  const earliest = (): number => {
    let least = Number.POSITIVE_INFINITY
    for (const { until } of asleep) least = Math.min(least, until)
    return least
  }
  return {
    callAt,
    earliest,
    sleepUntil(until, signal) {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = (): void => {
          takeBack()
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const takeBack = callAt(until, wake)
        signal.addEventListener('abort', wake, { once: true })
      })
    },
    wake(now) {
      for (const sleeper of asleep) if (sleeper.until <= now) sleeper.wake()
    },
    wakeFirst() {
      const first = earliest()
      for (const sleeper of asleep) if (sleeper.until === first) return sleeper.wake()
    },
    count: () => asleep.size,
  }
}
