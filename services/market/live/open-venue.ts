import { reasonOf } from '../../../contracts/errors/errors.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import { type CcxtClient, loadCcxt, openCcxtClient } from './ccxt-client.ts'
import { createRateBudget } from './rate-budget.ts'
import { statedWaitMs } from './stated-wait.ts'
import { createVenueAccess, type VenueAccess } from './venue-access.ts'
import { VenueFailure } from './venue-failure.ts'
import { createVenueTransport } from './venue-transport.ts'
import type { LiveExchange, VenueDefinition } from './venues.ts'

export interface VenueOptions extends Pick<Clock, 'now' | 'sleep'> {
  readonly exchange: LiveExchange
  readonly baseUrl?: string
  readonly fetch: typeof fetch
  readonly random: () => number
  /** Told now and then of what it sends and cannot be used. */
  readonly report?: (message: string) => void
}

/** Units that may go out at once after a quiet time. */
const BURST_UNITS = 10

export interface OpenVenue {
  readonly client: CcxtClient
  readonly access: VenueAccess
  /** Waits for weight that ccxt does not count. */
  readonly take: (weight: number) => Promise<void>
}

/** A client of a venue, asked at its rate, and again after what passes. */
export async function openVenue(
  options: VenueOptions,
  definition: VenueDefinition,
  onVenueTime: (time: number) => void,
): Promise<OpenVenue> {
  const { exchange, baseUrl, now, sleep, random } = options
  const ccxt = await loadCcxt()
  const never = new AbortController().signal
  let take = (_weight: number): Promise<void> => Promise.resolve()
  const client = openCcxtClient(ccxt, {
    definition,
    transport: createVenueTransport({
      fetch: options.fetch,
      now,
      onVenueTime,
      ...(baseUrl !== undefined && { baseUrl }),
    }),
    throttle: (weight) => take(weight),
    now,
  })
  const budget = createRateBudget({
    msPerUnit: definition.msPerUnit ?? client.rateLimit,
    burstUnits: BURST_UNITS,
    now,
    sleep,
  })
  take = (weight) => budget.take(weight, never)
  const classify = (error: unknown): VenueFailure => {
    if (error instanceof VenueFailure) return error
    const message = reasonOf(error)
    if (error instanceof ccxt.UnknownSymbol)
      return new VenueFailure('unknown_symbol', message, { cause: error })
    const isPassing =
      error instanceof ccxt.Passing || error instanceof TypeError || error instanceof SyntaxError
    // Some say in an answer that is no error of HTTP how long they are to be left alone.
    const waitMs = isPassing ? statedWaitMs(message, now()) : undefined
    return new VenueFailure(isPassing ? 'passing' : 'refused', message, {
      cause: error,
      ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    })
  }
  const access = createVenueAccess({ exchange, budget, classify, now, sleep, random })
  return { client, access, take }
}
