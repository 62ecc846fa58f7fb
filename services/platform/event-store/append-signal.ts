/** Wakes everybody who waits for something new in a log. */
export interface AppendSignal {
  /** How many notifications there were. */
  readonly count: number
  notify(): void
  /** Resolves once there were more than `seen` notifications, or when the signal is aborted. */
  wait(seen: number, signal: AbortSignal): Promise<void>
}

export function createAppendSignal(): AppendSignal {
  const waiting = new Set<() => void>()
  let count = 0
  return {
    get count() {
      return count
    },
    notify() {
      count += 1
      for (const wake of waiting) wake()
    },
    wait(seen, signal) {
      if (count > seen || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = () => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener('abort', wake)
      })
    },
  }
}
