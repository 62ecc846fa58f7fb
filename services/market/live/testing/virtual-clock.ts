import { setImmediate } from 'node:timers/promises'
import { createFakeClock } from '../../../../testing/time/fake-clock.fixture.ts'
import type { Clock } from '../../../runtime/async/clock.ts'

/** Time that passes only when nothing else is left to do: hours of a market in seconds. */
export interface VirtualClock extends Pick<Clock, 'now' | 'sleep'> {
  /** Counts requests, for time stands still while one is under way; the answer is read whole. */
  readonly fetch: typeof fetch
  /** Requests to addresses that begin so do not hold time up. */
  ignore(urlPrefix: string): void
  /** Lets time pass until the promise is settled. */
  runUntil<Result>(done: Promise<Result>): Promise<Result>
}

/** Turns of the event loop without a request under way, after which everybody is taken to be waiting. */
const QUIET_TURNS = 4

/**
 * @param start Unix milliseconds
 * @param send what makes a request; over the network where it is left out
 */
export function createVirtualClock(start: number, send: typeof fetch = fetch): VirtualClock {
  const clock = createFakeClock(start)
  let underWay = 0
  const ignored: string[] = []

  const countedFetch: typeof fetch = async (input, init) => {
    const counts = ignored.some((prefix) => addressOf(input).startsWith(prefix)) ? 0 : 1
    underWay += counts
    try {
      const response = await send(input, init)
      const body = await response.arrayBuffer()
      return new Response(body, { status: response.status, headers: response.headers })
    } finally {
      underWay -= counts
    }
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
      clock.skip()
    }
    return done
  }

  return {
    now: clock.now,
    sleep: clock.sleep,
    fetch: countedFetch,
    ignore: (prefix) => void ignored.push(prefix),
    runUntil,
  }
}

export const addressOf = (input: string | URL | Request): string =>
  input instanceof Request ? input.url : input.toString()
