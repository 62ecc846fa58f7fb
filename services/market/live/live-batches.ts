import type { BarBatch } from '../../../contracts/domain/feed.ts'
import type { Series } from '../../../contracts/domain/series.ts'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type BarLeg, isAskedFor } from './bar-leg.ts'
import { BatchWriter } from './batch-writer.ts'
import { fetchHistory } from './fetch-history.ts'
import { followVenues, HISTORY_GIVEN_UP } from './follow-venues.ts'
import type { FundingTrack } from './funding-track.ts'
import type { LiveContext } from './live-context.ts'

export interface LiveBatchesOptions {
  readonly series: readonly Series[]
  readonly legs: readonly BarLeg[]
  readonly tracks: readonly FundingTrack[]
  readonly context: LiveContext
  readonly liveFrom: number
  readonly signal: AbortSignal
}

/** History, the seam, and then what the venues close, instant by instant, until the signal is aborted. */
export async function* liveBatches(options: LiveBatchesOptions): AsyncGenerator<BarBatch, void, undefined> {
  const { series, legs, tracks, context, liveFrom } = options
  const onGivenUp = (leg: BarLeg): void => context.notice(leg, HISTORY_GIVEN_UP)
  const writer = new BatchWriter({ legs, series, liveFrom, onGivenUp })
  const ending = new AbortController()
  const signal = AbortSignal.any([options.signal, ending.signal])
  const seam: BarBatch = { at: liveFrom, phase: 'live', bars: [], funding: [] }
  let isSeamSent = false
  try {
    for await (const batch of fetchHistory({ legs, tracks, writer, context, signal })) {
      if (batch.phase === 'live' && !isSeamSent) yield seam
      isSeamSent ||= batch.phase === 'live'
      yield batch
    }
    if (signal.aborted) return
    if (!isSeamSent) yield seam
    let news = newsToCome()
    let hasFailed = false
    const wake = (): void => {
      if (hasFailed) return
      news.resolve()
      news = newsToCome()
    }
    // Requests under way at the end of the iteration end by themselves, within the time limit of a request.
    void followVenues({ legs, tracks, writer, context, signal, wake }).catch((error) => {
      hasFailed = true
      news.reject(error)
    })
    yield* followLive({ ...options, signal }, writer, () => news.promise)
  } finally {
    ending.abort()
  }
}

async function* followLive(
  { legs, context, signal }: LiveBatchesOptions,
  writer: BatchWriter,
  news: () => Promise<void>,
): AsyncGenerator<BarBatch, void, undefined> {
  const { now, sleep } = context
  const stepMs = Math.min(
    HOUR_MS,
    ...legs.filter(({ ends }) => ends === Number.POSITIVE_INFINITY).map((leg) => leg.lengthMs),
  )
  /** Legs that were not in time for the instant before; nobody waits for them. */
  const slow = new Set<BarLeg>()
  let at = writer.lastAt()
  let deadline = Number.NEGATIVE_INFINITY
  let waiting = new AbortController()
  signal.addEventListener('abort', () => waiting.abort(), { once: true })
  while (!signal.aborted) {
    const before = { at, deadline }
    at = Math.max(nextStep(at, stepMs), Math.floor((now() - LIMITS.venueSettleMs) / stepMs) * stepMs)
    deadline = at + LIMITS.venueSettleMs + LIMITS.venueLagMs
    for (;;) {
      // Late bars are delivered at once, without waiting for the next instant.
      while (writer.nextAt() <= Math.max(before.at, writer.lastAt()) && !signal.aborted) yield* writer.write()
      // A slow leg that answered before the last deadline is waited for again.
      if (now() <= before.deadline) for (const leg of slow) if (isAskedFor(leg, before.at)) slow.delete(leg)
      const isReady = now() >= at && legs.every((leg) => slow.has(leg) || isAskedFor(leg, at))
      if (signal.aborted || isReady || now() >= deadline) break
      waiting = new AbortController()
      await Promise.race([sleep((now() < at ? at : deadline) - now(), waiting.signal), news()])
      waiting.abort()
    }
    slow.clear()
    for (const leg of legs) if (!isAskedFor(leg, at)) slow.add(leg)
    while (writer.nextAt() <= at && !signal.aborted) yield* writer.write()
    if (!signal.aborted) yield* writer.writeFunding(at)
  }
}

const nextStep = (at: number, stepMs: number): number => (Math.floor(at / stepMs) + 1) * stepMs

/** A failure rejects who waits; without a wait it is no unhandled rejection. */
function newsToCome(): PromiseWithResolvers<void> {
  const news = Promise.withResolvers<void>()
  news.promise.catch(() => undefined)
  return news
}
