import { MINUTE_MS } from '../../../contracts/domain/timeframes.ts'
import { reasonOf } from '../../../contracts/errors/errors.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { CcxtClient } from './ccxt-client.ts'
import type { VenueDefinition } from './venues.ts'

/** Hours between settlements, of a venue that states them by another request than its list of contracts. */
export type StatedIntervals = ReturnType<typeof createStatedIntervals>

export interface StatedIntervalsOptions extends Pick<Clock, 'now'> {
  readonly stating: VenueDefinition['statedIntervals']
  readonly ask: <Answer>(
    request: (client: CcxtClient) => Promise<Answer>,
    signal: AbortSignal,
  ) => Promise<Answer>
  readonly report: (message: string) => void
}

/** All coins of a venue settle within minutes of one another, and are asked about once. */
const FRESH_MS = 5 * MINUTE_MS
/** A venue that refuses is asked ever more seldom. */
const MOST_WAIT_MS = 4 * 60 * MINUTE_MS

export function createStatedIntervals({ stating, ask, now, report }: StatedIntervalsOptions) {
  const known = new Map<string, number>()
  const fetchedAt = new Map<string, number>()
  let failures = 0
  let askAgainAt = Number.NEGATIVE_INFINITY
  /** One request at a time, so that a failing one is not made for every coin: bars of the venue may be well. */
  let queue: Promise<void> = Promise.resolve()

  async function fetchIntervals(symbol: string, signal: AbortSignal): Promise<void> {
    if (stating === undefined) return
    const { method, hoursOf } = stating
    const isOfOne = method === 'fetchFundingRate'
    const key = isOfOne ? symbol : ''
    const isFresh = now() - (fetchedAt.get(key) ?? Number.NEGATIVE_INFINITY) < FRESH_MS
    if (isFresh || now() < askAgainAt || signal.aborted) return
    try {
      const rates = await ask(
        async (client) => (isOfOne ? { [symbol]: await client.fetchFundingRate(symbol) } : client[method]()),
        signal,
      )
      for (const [one, { info }] of Object.entries(rates)) {
        const hours = hoursOf(info)
        if (hours > 0) known.set(one, hours)
        else known.delete(one)
      }
      fetchedAt.set(key, now())
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      if (failures === 0) report(`it does not say its funding intervals: ${reasonOf(error)}`)
      askAgainAt = now() + Math.min(MOST_WAIT_MS, FRESH_MS * 2 ** failures)
      failures += 1
    }
  }

  return {
    /** As stated last; undefined for a contract of which nothing was stated. */
    hoursOf: (symbol: string): number | undefined => known.get(symbol),
    /** Asks again where what is known may be out of date. Where that fails, what is known stands: a venue's history tells intervals, too. */
    refresh(symbol: string, signal: AbortSignal): Promise<void> {
      if (stating !== undefined) queue = queue.then(() => fetchIntervals(symbol, signal))
      return queue
    },
  }
}
