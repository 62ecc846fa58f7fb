import type { StreamSemaphore } from './stream-semaphore.ts'

/** Pages that cost much are made a few at a time, so that a flood of visits leaves most of the process to callers. */
export type PageLine = <Value>(address: string, make: () => Promise<Value>) => Promise<Value>

export interface PageLineOptions {
  /** Who may wait at all: what is more is refused. */
  readonly places: StreamSemaphore
  /** Pages that are made at a time. */
  readonly atOnce: number
  /** A clock that is never set, milliseconds. */
  readonly elapsed: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
}

/** Where others wait, a place rests so many times as long as its page took, and no longer than this. */
const RESTS = 2
const MOST_REST_MS = 1_000

/**
 * @throws ServiceError `rate_limited`, `too_many_streams` from a page where too many of them wait
 * @example const page = await line(address, () => render(request))
 */
export function createPageLine({ places, atOnce, elapsed, sleep }: PageLineOptions): PageLine {
  const waiting: (() => void)[] = []
  let free = atOnce

  async function pass(tookMs: number): Promise<void> {
    if (waiting.length > 0) await sleep(Math.min(MOST_REST_MS, RESTS * tookMs))
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }

  return async (address, make) => {
    const place = places.take(address)
    try {
      if (free > 0) free -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      const beganAt = elapsed()
      try {
        return await make()
      } finally {
        // Not waited for: who has the page has it now.
        void pass(elapsed() - beganAt)
      }
    } finally {
      place.given()
    }
  }
}
