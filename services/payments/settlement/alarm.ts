/** Wakes whoever sleeps; who is awake then does not fall asleep the next time. */
export interface Alarm {
  ring(): void
  /** Sleeps until the time is over, the alarm rings, or the signal is aborted. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>
}

export function createAlarm(sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>): Alarm {
  let hasRung = false
  let sleeper: AbortController | undefined
  return {
    ring() {
      hasRung = true
      sleeper?.abort()
    },
    async wait(milliseconds, signal) {
      if (!hasRung && !signal.aborted) {
        const own = new AbortController()
        const stop = (): void => own.abort()
        sleeper = own
        signal.addEventListener('abort', stop, { once: true })
        await sleep(milliseconds, own.signal)
        signal.removeEventListener('abort', stop)
      }
      hasRung = false
      sleeper = undefined
    },
  }
}
