/** Those who sleep by a clock that a test moves. */
export interface Sleepers {
  /** Resolves once the clock has come so far, or with the signal. */
  sleepUntil(until: number, signal: AbortSignal): Promise<void>
  /** Wakes whoever is due when the clock shows this. */
  wake(now: number): void
}

export function createSleepers(): Sleepers {
  const asleep = new Set<{ readonly until: number; readonly wake: () => void }>()
  return {
    sleepUntil(until, signal) {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const sleeper = {
          until,
          wake: () => {
            asleep.delete(sleeper)
            signal.removeEventListener('abort', sleeper.wake)
            resolve()
          },
        }
        asleep.add(sleeper)
        signal.addEventListener('abort', sleeper.wake)
      })
    },
    wake(now) {
      for (const sleeper of asleep) if (sleeper.until <= now) sleeper.wake()
    },
  }
}
