import { setImmediate } from 'node:timers/promises'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import { barOpenAt } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type BarLeg, isAskedFor } from './bar-leg.ts'
import type { BatchWriter } from './batch-writer.ts'
import type { FundingTrack } from './funding-track.ts'
import type { LiveContext } from './live-context.ts'

export interface HistoryRequest {
  readonly legs: readonly BarLeg[]
  readonly tracks: readonly FundingTrack[]
  readonly writer: BatchWriter
  readonly context: LiveContext
  readonly signal: AbortSignal
}

/** Batches between two turns of the event loop, which has others to serve meanwhile. */
const BATCHES_PER_TURN = 256

/**
 * The past of all legs, merged in time, up to the present. Stretch by stretch: each is as long as one page of the
 * shortest bars in it, so that memory holds one page of every leg, however long the past is.
 *
 * The others do not wait for a leg that fails or is not done in time; its bars come late.
 */
export async function* fetchHistory(request: HistoryRequest): AsyncGenerator<BarBatch, void, undefined> {
  const { legs, writer, context, signal } = request
  const { now, sleep } = context
  const deadline = now() + LIMITS.venueBackfillMs
  const behind = new Set<BarLeg>()
  const present = (): number => barOpenAt('1m', now() - LIMITS.venueSettleMs)
  let sinceTurn = 0
  // The first pages say where each leg begins; a bar that has not closed yet is not asked for.
  const first = legs.map((leg) => fill(leg, Math.min(present(), leg.begins + leg.lengthMs), behind, request))
  await orUntil(Promise.all([fetchFunding(request), ...first]), deadline - now(), sleep, signal)
  let at = Math.min(present(), ...legs.map(({ begins }) => begins))
  while (at < present() && !signal.aborted) {
    const until = Math.min(present(), endOfStretch(legs, at))
    const filling = Promise.all(legs.map((leg) => fill(leg, until, behind, request)))
    await orUntil(filling, deadline - now(), sleep, signal)
    for (const leg of legs) {
      if (!isAskedFor(leg, Math.min(until, leg.ends))) leaveBehind(leg, behind, context)
    }
    while (writer.nextAt() <= until && !signal.aborted) {
      yield* writer.write()
      if (++sinceTurn % BATCHES_PER_TURN === 0) await setImmediate()
    }
    at = until
  }
  for (const leg of legs) {
    const few = behind.has(leg) ? [] : leg.fewBars()
    if (few.length > 0)
      context.notice(leg, `few bars (${few.join(', ')}); a verdict needs ${LIMITS.warmUpBars}`)
  }
}

/** The longest stretch from an instant on in which no leg ends, and none needs more than a page. */
function endOfStretch(legs: readonly BarLeg[], at: number): number {
  let end = Number.POSITIVE_INFINITY
  for (const { begins, ends, lengthMs } of legs) {
    if (ends > at) end = Math.min(end, ends, Math.max(at, begins) + LIMITS.venuePageBars * lengthMs)
  }
  return end
}

async function fill(
  leg: BarLeg,
  until: number,
  behind: Set<BarLeg>,
  { context, signal }: HistoryRequest,
): Promise<void> {
  if (leg.begins >= until) return
  try {
    while (!isAskedFor(leg, Math.min(until, leg.ends)) && !behind.has(leg) && !signal.aborted) {
      await leg.fetchPage(signal)
    }
  } catch (error) {
    if (signal.aborted) return
    context.failed(leg.venue, error)
    leaveBehind(leg, behind, context)
  }
}

function leaveBehind(leg: BarLeg, behind: Set<BarLeg>, context: LiveContext): void {
  if (behind.has(leg)) return
  behind.add(leg)
  context.notice(leg, 'its history comes late')
}

async function fetchFunding({ tracks, writer, context, signal }: HistoryRequest): Promise<void> {
  await Promise.all(
    tracks.map(async (track) => {
      try {
        const fresh = await track.fetch(signal)
        writer.addFunding(fresh.map((funding) => ({ market: track.market, funding })))
      } catch (error) {
        if (!signal.aborted) context.failed(track.venue, error)
      }
    }),
  )
}

/** Waits for a promise that does not reject, but no longer than some time, nor past the signal. */
async function orUntil(
  done: Promise<unknown>,
  milliseconds: number,
  sleep: LiveContext['sleep'],
  signal: AbortSignal,
): Promise<void> {
  const waiting = new AbortController()
  await Promise.race([done, sleep(milliseconds, AbortSignal.any([signal, waiting.signal]))])
  waiting.abort()
}
