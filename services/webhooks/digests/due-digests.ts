import type { Exchange } from '../../../contracts/exchanges.ts'
import { CADENCES, type Cadence } from '../../../contracts/subscription.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import { CADENCE_MS } from '../signals/filter.ts'

/** A digest that somebody is subscribed to. */
export interface WantedDigest {
  readonly exchange: Exchange
  readonly timeframe: Timeframe
  readonly cadence: Cadence
}

/** The wanted cadences of one exchange and timeframe: one scan serves them all. */
export interface WantedScan {
  readonly exchange: Exchange
  readonly timeframe: Timeframe
  readonly cadences: readonly Cadence[]
}

/** A digest to record now. */
export interface DueDigest {
  readonly cadence: Cadence
  /** Beginning of its period, market time. */
  readonly boundary: number
}

/** @example scanName({ exchange: 'HL', timeframe: '1h' }) === 'HL.1h' */
export const scanName = ({ exchange, timeframe }: Omit<WantedScan, 'cadences'>): string =>
  `${exchange}.${timeframe}`

/** Each exchange and timeframe once, with every cadence that is wanted of it. */
export function wantedScans(wanted: Iterable<WantedDigest>): WantedScan[] {
  const scans = new Map<string, { scan: Omit<WantedScan, 'cadences'>; cadences: Set<Cadence> }>()
  for (const { exchange, timeframe, cadence } of wanted) {
    const scan = { exchange, timeframe }
    const entry = scans.get(scanName(scan)) ?? { scan, cadences: new Set() }
    scans.set(scanName(scan), entry)
    entry.cadences.add(cadence)
  }
  return [...scans.values()].map(({ scan, cadences }) => ({
    ...scan,
    cadences: CADENCES.filter((cadence) => cadences.has(cadence)),
  }))
}

/**
 * Digests whose period has begun and that are not recorded. Of periods that were missed only the running one is left:
 * a digest of an earlier one would tell what nobody can act on any more.
 *
 * @param newest boundary of the newest recorded digest, by cadence
 * @param marketNow Unix milliseconds of market time
 * @param settleMs after a boundary, how long the verdicts of its bars are given to be there
 */
export function dueDigests(
  { cadences }: Pick<WantedScan, 'cadences'>,
  newest: ReadonlyMap<Cadence, number>,
  marketNow: number,
  settleMs: number,
): DueDigest[] {
  return cadences
    .map((cadence) => ({
      cadence,
      boundary: Math.floor((marketNow - settleMs) / CADENCE_MS[cadence]) * CADENCE_MS[cadence],
    }))
    .filter(({ cadence, boundary }) => boundary > (newest.get(cadence) ?? 0))
}
