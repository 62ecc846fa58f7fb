import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { VenueHealth } from '../feed.ts'
import type { BarLeg } from './bar-leg.ts'
import type { Venue } from './venue.ts'

/** Keeps what is seen of every venue, for `/readyz`. */
export interface HealthBook {
  /** Notes a failure; true when it is worth a line in the log, which is when the venue was well before. */
  failed(exchange: Exchange, reason: string): boolean
  /** Watches the bars of some legs until the answer is called. */
  follow(legs: readonly BarLeg[]): () => void
  read(): readonly VenueHealth[]
}

/** A failure is news again after this time. */
const QUIET_MS = 60_000

/** What is known of a venue's failures. */
interface Failures {
  reason: string
  reportedAt: number
}

export function createHealthBook(venues: readonly Venue[], now: () => number): HealthBook {
  const failures = new Map<Exchange, Failures>()
  const followed = new Set<readonly BarLeg[]>()

  const failuresOf = (exchange: Exchange): Failures => {
    const known = failures.get(exchange)
    if (known !== undefined) return known
    const none = { reason: '', reportedAt: Number.NEGATIVE_INFINITY }
    failures.set(exchange, none)
    return none
  }

  function healthOf(venue: Venue): VenueHealth {
    const { exchange } = venue
    const legs = [...followed].flat().filter((leg) => leg.venue === venue)
    const newest = Math.max(...legs.map((leg) => leg.knownTo()))
    const dataAgeMs = Number.isFinite(newest) ? Math.max(0, now() - newest) : null
    const circuit = venue.access()?.circuit
    const lastFailure = venue.access()?.lastFailure()
    const seen = `${venue.known().size} contracts, ${legs.length} kinds of bars followed`
    const progress = historyOf(legs, now())
    if (circuit !== undefined && circuit.state() !== 'closed') {
      const until = new Date(circuit.opensAt()).toISOString()
      return {
        exchange,
        state: 'failed',
        detail: `not asked before ${until}: ${lastFailure ?? ''}`,
        dataAgeMs,
      }
    }
    if (venue.known().size === 0) {
      const reason = failuresOf(exchange).reason
      const detail = reason === '' ? 'not asked yet' : `its markets could not be fetched: ${reason}`
      return { exchange, state: reason === '' ? 'ok' : 'failed', detail, dataAgeMs }
    }
    const shortest = Math.min(...legs.map((leg) => leg.lengthMs))
    const isStale = dataAgeMs !== null && dataAgeMs > shortest + LIMITS.staleAfterMs
    if (isStale || progress !== undefined) {
      const what = progress ?? `no bar for ${Math.round((dataAgeMs ?? 0) / 1_000)} s`
      const reason = lastFailure === undefined ? '' : `; last failure: ${lastFailure}`
      return { exchange, state: 'degraded', detail: `${what}; ${seen}${reason}`, dataAgeMs }
    }
    return { exchange, state: 'ok', detail: seen, dataAgeMs }
  }

  return {
    failed(exchange, reason) {
      const seen = failuresOf(exchange)
      seen.reason = reason
      const isNews = now() - seen.reportedAt >= QUIET_MS || seen.reportedAt > now()
      if (isNews) seen.reportedAt = now()
      return isNews
    },
    follow(legs) {
      followed.add(legs)
      return () => followed.delete(legs)
    },
    read: () => venues.map(healthOf),
  }
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
