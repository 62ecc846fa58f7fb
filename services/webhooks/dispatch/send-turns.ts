import { LIMITS } from '../../../contracts/limits.ts'
import { hasWork, type Lane } from './lane.ts'

/** Whose turn it is to send, among all endpoints that have something to send. */
export interface SendTurns {
  /** Attempts under way. */
  readonly underWay: number
  /** Puts an endpoint in line, if it has work and room and is not in line yet. */
  offer(lane: Lane): void
  /** Takes the next in line and counts an attempt for it; undefined where there is none, or no room. */
  take(): Lane | undefined
  /** An attempt of it has ended. */
  done(lane: Lane): void
}

type Standing = 'live' | 'behind' | 'unproven'

/**
 * Of all attempts at a time, endpoints that did not take their latest delivery have half at most, so that those
 * that hang do not use up the room of those that work; and so few are always left to each that none starves.
 */
const UNPROVEN_AT_MOST = LIMITS.webhookAttemptsAtOnce / 2
const AT_LEAST = 8

/** A first-in-first-out line whose ends cost the same however long it is. */
function createLine(): { readonly size: number; push(lane: Lane): void; shift(): Lane | undefined } {
  const lanes = new Set<Lane>()
  return {
    get size() {
      return lanes.size
    },
    push: (lane) => void lanes.add(lane),
    shift() {
      for (const lane of lanes) {
        lanes.delete(lane)
        return lane
      }
      return undefined
    },
  }
}

export function createSendTurns(atOnce: number = LIMITS.webhookAttemptsAtOnce): SendTurns {
  const lines = { live: createLine(), behind: createLine(), unproven: createLine() }
  const counts: Record<Standing, number> = { live: 0, behind: 0, unproven: 0 }
  /** As what each attempt under way was counted: an endpoint may prove itself meanwhile. */
  const countedAs = new Map<Lane, Standing[]>()
  let underWay = 0

  const standingOf = (lane: Lane): Standing => (lane.isProven ? lane.mode : 'unproven')
  const most = (lane: Lane): number => (lane.isProven ? LIMITS.webhookAttemptsPerEndpoint : 1)

  function nextLine(): Standing | undefined {
    const waits = (standing: Standing): boolean => lines[standing].size > 0
    const isShort = (standing: Standing): boolean => waits(standing) && counts[standing] < AT_LEAST
    if (isShort('unproven')) return 'unproven'
    if (waits('live') && !(isShort('behind') && counts.live > AT_LEAST)) return 'live'
    if (waits('behind')) return 'behind'
    return waits('unproven') && counts.unproven < UNPROVEN_AT_MOST ? 'unproven' : undefined
  }

  return {
    get underWay() {
      return underWay
    },
    offer(lane) {
      if (lane.isReady || lane.sending >= most(lane) || !hasWork(lane)) return
      lane.isReady = true
      lines[standingOf(lane)].push(lane)
    },
    take() {
      while (underWay < atOnce) {
        const standing = nextLine()
        const lane = standing === undefined ? undefined : lines[standing].shift()
        if (standing === undefined || lane === undefined) return undefined
        lane.isReady = false
        if (lane.sending >= most(lane) || !hasWork(lane)) continue
        lane.sending += 1
        underWay += 1
        counts[standing] += 1
        const counted = countedAs.get(lane)
        if (counted === undefined) countedAs.set(lane, [standing])
        else counted.push(standing)
        return lane
      }
      return undefined
    },
    done(lane) {
      const counted = countedAs.get(lane)
      const standing = counted?.shift()
      if (standing === undefined) return
      if (counted?.length === 0) countedAs.delete(lane)
      counts[standing] -= 1
      underWay -= 1
      lane.sending -= 1
    },
  }
}
