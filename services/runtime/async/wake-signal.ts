/** Wakes everybody who waits for something new in a log. */
export type WakeSignal = ReturnType<typeof createWakeSignal>

export function createWakeSignal() {
  const waiting = new Set<() => void>()
  let count = 0
  return {
    /** How many notifications there were. */
    get count() {
      return count
    },
    notify() {
      count += 1
      for (const wake of waiting) wake()
    },
    /** Resolves once there were more than `seen` notifications, or when the signal is aborted. */
    wait(seen: number, signal: AbortSignal): Promise<void> {
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

/** A reason that is there already costs nothing at each wake. */
const WOKEN = new Error('woken')

/** Waits as `wake.wait` does, but for so many milliseconds at most. */
export async function waitAtMost(
  milliseconds: number,
  wake: WakeSignal,
  seen: number,
  {
    sleep,
    signal,
  }: {
    readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>
    readonly signal: AbortSignal
  },
): Promise<void> {
  if (wake.count > seen || signal.aborted) return
  const over = new AbortController()
  const end = (): void => over.abort(WOKEN)
  signal.addEventListener('abort', end, { once: true })
  void wake.wait(seen, over.signal).then(end)
  await sleep(milliseconds, over.signal)
  end()
  signal.removeEventListener('abort', end)
}
