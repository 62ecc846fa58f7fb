import { barOpenAt, MINUTE_MS, timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { isServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { BarLeg } from './bar-leg.ts'
import type { HistoryRequest } from './fetch-history.ts'
import type { FundingTrack } from './funding-track.ts'
import type { LiveContext } from './live-context.ts'
import type { Venue } from './venue.ts'
import { VenueFailure } from './venue-failure.ts'

export interface FollowRequest extends HistoryRequest {
  /** Told when something new is there to be told. */
  readonly wake: () => void
}

/** How soon a bar that should be there is asked for again: venues finish some bars late. */
const ASK_AGAIN_MS = 5_000

/** How often it is; after that it comes with the next one, if at all, which takes long where bars are. */
const askAgainTimes = ({ lengthMs }: BarLeg): number => (lengthMs > MINUTE_MS ? 5 : 2)

/** After a failure, and up to as long again by chance, so that coins do not come back in step. */
const PAUSE_MS = 5_000

const BARRED_PAUSE_MAX_MS = 15 * MINUTE_MS

/** Settlements are asked for within this time, so that all are there when the first bar closes that they count for. */
const FUNDING_SPREAD_MS = 30_000

/**
 * Keeps every leg and every track up to date until the signal is aborted. Each goes its own way, so that one
 * symbol which hangs holds up no other; how many requests go out together is the venue's to limit.
 *
 * @returns when all have ended; never rejects
 */
export async function followVenues(request: FollowRequest): Promise<void> {
  const venues = new Set([...request.legs, ...request.tracks].map(({ venue }) => venue))
  await Promise.all([
    ...request.legs.map((leg) => followLeg(leg, request)),
    ...request.tracks.map((track) => followTrack(track, request)),
    ...[...venues].map((venue) => followMarkets(venue, request)),
  ])
}

async function followLeg(leg: BarLeg, request: FollowRequest): Promise<void> {
  const { context, signal, wake } = request
  let again = 0
  let askedFor = Number.NEGATIVE_INFINITY
  let refusedSince: number | undefined
  let barred = 0
  while (!signal.aborted && !isComplete(leg)) {
    if (leg.venue.listings.isGone(leg.market.coin)) {
      await restWhileGone(leg, request)
      continue
    }
    const due = dueAt(leg, again)
    const isFull = leg.waiting() >= leg.venue.pageBars
    if (isFull || due > context.now()) {
      await context.sleep(isFull ? ASK_AGAIN_MS : due - context.now(), signal)
      continue
    }
    const newest = barOpenAt(leg.timeframe, context.now() - LIMITS.venueSettleMs)
    again = askedFor === newest ? again + 1 : 0
    askedFor = newest
    try {
      await leg.fetchPage(signal)
      refusedSince = undefined
      barred = 0
    } catch (error) {
      if (signal.aborted) return
      refusedSince = isPassing(error) ? undefined : (refusedSince ?? context.now())
      giveUpPast(leg, refusedSince, context)
      barred = error instanceof VenueFailure && error.kind === 'barred' ? barred + 1 : 0
      await onLegFailure(leg, error, request)
      await context.sleep(barredPause(barred), signal)
    }
    wake()
  }
}

/**
 * A leg that is barred waits longer each time, because further requests prolong the ban; other legs of the venue may
 * pass.
 */
const barredPause = (times: number): number =>
  times === 0 ? 0 : Math.min(LIMITS.venueBarredMs * 2 ** (times - 1), BARRED_PAUSE_MAX_MS)

/** A leg of the past has an end. */
const isComplete = (leg: BarLeg): boolean =>
  leg.ends !== Number.POSITIVE_INFINITY && leg.fetchedTo() === Number.POSITIVE_INFINITY

const isPassing = (error: unknown): boolean =>
  error instanceof VenueFailure
    ? error.kind === 'passing' || error.kind === 'barred'
    : isServiceError(error, 'venue_unavailable')

/** For the operator, of a leg. */
export const HISTORY_GIVEN_UP = 'its history cannot be loaded; its verdicts begin with live bars'

/** Gives up a past that the venue has refused for so long: its series begin with live bars instead. */
function giveUpPast(leg: BarLeg, refusedSince: number | undefined, context: LiveContext): void {
  if (leg.ends === Number.POSITIVE_INFINITY || refusedSince === undefined) return
  if (context.now() - refusedSince < LIMITS.venueBackfillMs) return
  leg.end()
  context.notice(leg, HISTORY_GIVEN_UP)
}

async function restWhileGone(leg: BarLeg, { context, signal, wake }: FollowRequest): Promise<void> {
  leg.end()
  context.notice(leg, 'ended, because the venue has not listed it for a day, and sent no bar')
  wake()
  while (!signal.aborted && leg.venue.listings.isGone(leg.market.coin)) {
    await context.sleep(LIMITS.venueMarketsLeastMs, signal)
  }
  if (signal.aborted) return
  if (leg.ends === Number.POSITIVE_INFINITY) leg.resume()
  context.notice(leg, 'goes on, because the venue lists it again')
}

/** When the next bar has closed and the venue has had time to finish it, or one that is missing may be there. */
function dueAt(leg: BarLeg, again: number): number {
  const settle = LIMITS.venueSettleMs + leg.venue.clockBehindMs()
  const fetchedTo = leg.fetchedTo()
  const isMissing = leg.knownTo() < barOpenAt(leg.timeframe, fetchedTo)
  const next = barOpenAt(leg.timeframe, fetchedTo) + timeframeMs(leg.timeframe) + settle
  const isAgain = isMissing && again < askAgainTimes(leg)
  return Math.min(next, leg.waitsUntil(), isAgain ? fetchedTo + ASK_AGAIN_MS * 2 ** again : next)
}

async function onLegFailure(leg: BarLeg, error: unknown, request: FollowRequest): Promise<void> {
  const { context, signal } = request
  const { venue, market } = leg
  context.failed(venue, error)
  // A venue that refuses a coin may have suspended it, or let it go.
  if (error instanceof VenueFailure && !isPassing(error)) await lookAtMarkets(venue, context, signal)
  const isTraded = venue.listings.traded().has(market.coin)
  await context.sleep(Math.max(pauseOf(venue, context), isTraded ? 0 : LIMITS.venueMarketsLeastMs), signal)
}

async function lookAtMarkets(venue: Venue, context: LiveContext, signal: AbortSignal): Promise<void> {
  try {
    await venue.markets(LIMITS.venueMarketsLeastMs, signal)
  } catch (error) {
    if (!signal.aborted) context.failed(venue, error)
  }
}

function pauseOf(venue: Venue, { now, random }: LiveContext): number {
  const circuit = venue.access()?.circuit
  const closed = circuit === undefined || circuit.state() === 'closed' ? 0 : circuit.opensAt() - now()
  return Math.max(PAUSE_MS, closed) + random() * PAUSE_MS
}

async function followTrack(track: FundingTrack, { writer, context, signal }: FollowRequest): Promise<void> {
  while (!signal.aborted) {
    const left = track.dueAt() - context.now()
    if (left > 0) {
      // A little later by chance: all coins of a venue settle at the same instant.
      await context.sleep(left + context.random() * FUNDING_SPREAD_MS, signal)
      continue
    }
    try {
      const fresh = await track.fetch(signal)
      writer.addFunding(fresh.map((funding) => ({ market: track.market, funding })))
    } catch (error) {
      if (signal.aborted) return
      context.failed(track.venue, error)
      const isTraded = track.venue.listings.traded().has(track.market.coin)
      const rest = isTraded ? 0 : LIMITS.venueMarketsLeastMs
      await context.sleep(Math.max(pauseOf(track.venue, context), rest), signal)
    }
  }
}

/** Looks now and then which markets there are, and often while one that is followed is not traded. */
async function followMarkets(venue: Venue, { legs, context, signal }: FollowRequest): Promise<void> {
  const coins = new Set(legs.filter((leg) => leg.venue === venue).map(({ market }) => market.coin))
  const isWhole = (): boolean => {
    const traded = venue.listings.traded()
    return [...coins].every((coin) => traded.has(coin) || venue.listings.isGone(coin))
  }
  while (!signal.aborted) {
    const every = isWhole() ? LIMITS.venueMarketsMs : LIMITS.venueMarketsLeastMs
    await context.sleep(every + context.random() * MINUTE_MS, signal)
    if (!signal.aborted) await lookAtMarkets(venue, context, signal)
  }
}
