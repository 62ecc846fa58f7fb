import { z } from 'zod'
import { countText } from '../domain/statistics.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../domain/timeframes.ts'
import { isLate, type Verdict } from '../domain/verdict.ts'
import type { MarketKind } from '../events/event-catalogue.ts'

export const recordedAsSchema = z
  .enum(['live', 'backfill', 'late'])
  .describe(
    'live: before the first bar of its window had closed. backfill: afterwards, when the past of the market was computed; what it foretells was not known to the model, but it was over. late: after a fault or a pause; it counts for nothing',
  )
export type RecordedAs = z.infer<typeof recordedAsSchema>

type Timed = Pick<Verdict, 'barClose' | 'validUntil' | 'timeframe' | 'recordedLate'>

/** @param recordedAt when the event was appended, ISO 8601, by the clock of the machine */
export function recordedAs(verdict: Timed, recordedAt: string): RecordedAs {
  if (verdict.recordedLate) return 'late'
  return isLate(verdict, Date.parse(recordedAt)) ? 'backfill' : 'live'
}

const BACKFILL: Readonly<Record<MarketKind, string>> = {
  simulated: 'the past of the simulated market was computed at the first start, or after a pause',
  recorded: 'it was computed in a replay of recorded prices',
  live: 'its bar was read from the history of the exchange',
}

/**
 * Why a verdict was recorded when its window had begun or was over, for people; null for one that was recorded live.
 *
 * @example 'Recorded 12 days after its window closed: it was computed in a replay of recorded prices. It proves …'
 */
export function recordedNote(verdict: Timed, recordedAt: string, market: MarketKind): string | null {
  const as = recordedAs(verdict, recordedAt)
  if (as === 'live') return null
  const after = Date.parse(recordedAt) - verdict.validUntil
  const since =
    after >= 0
      ? `${spanOf(after)} after its window closed`
      : `${spanOf(Date.parse(recordedAt) - verdict.barClose)} after its bar closed, within its window`
  if (as === 'late')
    return `Recorded ${since}: the service was stopped or behind. It counts in no figure of the track record.`
  return `Recorded ${since}: ${BACKFILL[market]}. The record proves that the verdict was not changed since then, not that it was there before.`
}

/** @example spanOf(12 * DAY_MS) // '12 days' */
function spanOf(milliseconds: number): string {
  const units = [
    ['day', DAY_MS],
    ['hour', HOUR_MS],
    ['minute', MINUTE_MS],
    ['second', 1_000],
  ] as const
  const [name, unit] = units.find(([, length]) => milliseconds >= 2 * length) ?? (['second', 1_000] as const)
  return countText(Math.max(0, Math.floor(milliseconds / unit)), name)
}
