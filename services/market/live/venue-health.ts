import type { Exchange } from '../../../contracts/domain/series.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { VenueHealth } from '../feed.ts'
import type { BarLeg } from './bar-leg.ts'
import type { Venue } from './venue.ts'

/** Keeps what is seen of every venue, for `/readyz`. */
export type HealthRegistry = ReturnType<typeof createHealthRegistry>

/** A failure is news again after this time. */
const QUIET_MS = 60_000

/** Failures of a venue. */
interface Failures {
  reason: string
  reportedAt: number
  /** Close of the newest bar there was at the last one: a newer bar makes it good. */
  newestBar: number
}

export function createHealthRegistry(venues: readonly Venue[], now: () => number) {
  const failures = new Map<Exchange, Failures>()
  const followed = new Set<readonly BarLeg[]>()

  const failuresOf = (exchange: Exchange): Failures => {
    const known = failures.get(exchange)
    if (known !== undefined) return known
    const none = { reason: '', reportedAt: Number.NEGATIVE_INFINITY, newestBar: Number.NaN }
    failures.set(exchange, none)
    return none
  }

  const legsOf = (exchange: Exchange): BarLeg[] =>
    [...followed].flat().filter(({ venue }) => venue.exchange === exchange)

  function healthOf(venue: Venue): Omit<VenueHealth, 'faults'> {
    const { exchange } = venue
    const legs = legsOf(exchange)
    const newest = newestOf(legs)
    const dataAgeMs = Number.isFinite(newest) ? Math.max(0, now() - newest) : null
    const circuit = venue.access()?.circuit
    const { reason, newestBar } = failuresOf(exchange)
    if (circuit !== undefined && circuit.state() !== 'closed') {
      const until = new Date(circuit.opensAt()).toISOString()
      const detail = `not asked before ${until}: ${venue.access()?.lastFailure() ?? ''}`
      return { exchange, state: 'failed', detail, dataAgeMs }
    }
    if (venue.listings.traded().size === 0) return { exchange, ...marketsMissing(venue, reason), dataAgeMs }
    const isFailing = newestBar === newest
    const shortest = Math.min(...legs.map((leg) => leg.lengthMs))
    // Late is no fault: venues are slow at times, and the other limit is for that. Late and failing is one.
    const allowedMs = isFailing ? LIMITS.venueSettleMs + LIMITS.venueLagMs : LIMITS.staleAfterMs
    const isStale = dataAgeMs !== null && dataAgeMs > shortest + allowedMs
    const progress = historyOf(legs, now())
    const behindS = Math.round(venue.clockBehindMs() / 1_000)
    const detail = [
      ...(progress === undefined ? [] : [progress]),
      ...(isStale ? [`no bar for ${Math.round(dataAgeMs / 1_000)} s`] : []),
      `${venue.listings.traded().size} contracts, ${legs.length} kinds of bars followed`,
      ...(behindS === 0 ? [] : [`its clock is ${behindS} s behind, and its bars come so much later`]),
      ...(isFailing && (isStale || progress !== undefined) ? [`last failure: ${reason}`] : []),
    ].join('; ')
    return { exchange, state: isStale || progress !== undefined ? 'degraded' : 'ok', detail, dataAgeMs }
  }

  return {
    /** Notes a failure; true when it is worth a line in the log, which is when the venue was well before. */
    failed(exchange: Exchange, reason: string): boolean {
      const seen = failuresOf(exchange)
      seen.reason = reason
      seen.newestBar = newestOf(legsOf(exchange))
      const isNews = now() - seen.reportedAt >= QUIET_MS || seen.reportedAt > now()
      if (isNews) seen.reportedAt = now()
      return isNews
    },
    /** Watches the bars of some legs until the answer is called. */
    follow(legs: readonly BarLeg[]): () => void {
      followed.add(legs)
      return () => followed.delete(legs)
    },
    read: (): readonly VenueHealth[] =>
      venues.map((venue) => ({
        ...healthOf(venue),
        unreachable: venue.access()?.unreachable(),
        faults: venue.faults.counts(),
      })),
  }
}

/** Close of the newest bar of some legs; minus infinity where none came. */
const newestOf = (legs: readonly BarLeg[]): number => Math.max(...legs.map((leg) => leg.knownTo()))

/** How a venue is whose contracts are not known. */
function marketsMissing(venue: Venue, reason: string): Pick<VenueHealth, 'state' | 'detail'> {
  if (reason !== '') return { state: 'failed', detail: `its markets could not be fetched: ${reason}` }
  if (venue.access() === undefined) return { state: 'ok', detail: 'not asked yet' }
  return { state: 'degraded', detail: 'its markets are being fetched' }
}

/** How much of the wanted history has come; undefined when all of it has. */
function historyOf(legs: readonly BarLeg[], now: number): string | undefined {
  let wanted = 0
  let come = 0
  for (const leg of legs) {
    const end = Math.min(leg.ends, now)
    const bars = Math.max(0, end - leg.begins) / leg.lengthMs
    wanted += bars
    come += Math.min(bars, Math.max(0, Math.min(leg.fetchedTo(), end) - leg.begins) / leg.lengthMs)
  }
  if (wanted === 0 || wanted - come <= legs.length * 2) return undefined
  return `history ${Math.floor((100 * come) / wanted)} %`
}
