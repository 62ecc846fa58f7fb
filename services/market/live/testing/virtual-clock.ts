import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../../platform/async/clock.ts'

/** Time that passes only when nothing else is left to do: hours of a market in seconds. */
export interface VirtualClock extends Pick<Clock, 'now' | 'sleep'> {
  /** Counts requests, for time stands still while one is under way; the answer is read whole. */
  readonly fetch: typeof fetch
  /** Time stands still while some work is under way that is no request. */
  hold<Result>(work: Promise<Result>): Promise<Result>
  /** Requests to addresses that begin so do not hold time up. */
  ignore(urlPrefix: string): void
  /** Lets time pass until the promise is settled. */
  runUntil<Result>(done: Promise<Result>): Promise<Result>
}

interface Timer {
  readonly due: number
  readonly ring: () => void
}

/** FairScheduler of the event loop without a request under way, after which everybody is taken to be waiting. */
const QUIET_TURNS = 12

/** @param start Unix milliseconds */
export function createVirtualClock(start: number): VirtualClock {
  let time = start
  let underWay = 0
  const timers = new Set<Timer>()
  const ignored: string[] = []

  function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (milliseconds <= 0 || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        timers.delete(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = { due: time + milliseconds, ring: end }
      timers.add(timer)
      signal.addEventListener('abort', end)
    })
  }

  const countedFetch: typeof fetch = async (input, init) => {
    const counts = ignored.some((prefix) => addressOf(input).startsWith(prefix)) ? 0 : 1
    underWay += counts
    try {
      const response = await fetch(input, init)
      const body = await response.arrayBuffer()
      return new Response(body, { status: response.status, headers: response.headers })
    } finally {
      underWay -= counts
    }
  }

  async function hold<Result>(work: Promise<Result>): Promise<Result> {
    underWay += 1
    try {
      return await work
    } finally {
      underWay -= 1
    }
  }

  function passTime(): void {
    let next: Timer | undefined
    for (const timer of timers) if (next === undefined || timer.due < next.due) next = timer
    if (next === undefined) return
    time = Math.max(time, next.due)
    next.ring()
  }

  async function runUntil<Result>(done: Promise<Result>): Promise<Result> {
    const state = { isDone: false }
    const settled = (): void => {
      state.isDone = true
    }
    done.then(settled, settled)
    let quiet = 0
    while (!state.isDone) {
      await setImmediate()
      quiet = underWay > 0 ? 0 : quiet + 1
      if (quiet < QUIET_TURNS) continue
      quiet = 0
      passTime()
    }
    return done
  }

  return {
    now: () => time,
    sleep,
    fetch: countedFetch,
    hold,
    ignore: (prefix) => void ignored.push(prefix),
    runUntil,
  }
}

const addressOf = (input: string | URL | Request): string =>
  input instanceof Request ? input.url : input.toString()
