import { LIMITS } from '../../../contracts/limits.ts'
import { hasWork, type Lane } from './lane.ts'

/** One attempt that an endpoint may make, and as what it was counted: it may prove itself meanwhile. */
export interface SendTurn {
  readonly lane: Lane
  readonly standing: Standing
}

/** Whose turn it is to send, among all endpoints that have something to send. */
export interface SendTurns {
  /** Attempts under way. */
  readonly underWay: number
  /** Puts an endpoint in line, if it has work and room and is not in line yet. */
  offer(lane: Lane): void
  /** Counts an attempt for the next in line; undefined where there is none, or no room. */
  take(): SendTurn | undefined
  /** It has ended. */
  done(turn: SendTurn): void
}

type Standing = 'live' | 'behind' | 'unproven'

/**
 * Of all attempts at a time, endpoints that did not take their latest delivery have half at most, so that those
 * that hang do not use up the room of those that work; and so few are always left to each that none starves.
 */
const UNPROVEN_AT_MOST = LIMITS.webhookAttemptsAtOnce / 2
const AT_LEAST = 8

/** Whoever waits, the first that came in front. Its ends cost the same however long it is. */
function createLine() {
  let lanes: Lane[] = []
  let front = 0
  return {
    /** Turns that the one in front has had without a break. */
    turnsInARow: 0,
    get size() {
      return lanes.length - front
    },
    push: (lane: Lane): void => void lanes.push(lane),
    first: (): Lane | undefined => lanes[front],
    shift(): void {
      front += 1
      this.turnsInARow = 0
      if (front * 2 < lanes.length) return
      lanes = lanes.slice(front)
      front = 0
    },
  }
}

export function createSendTurns(atOnce: number = LIMITS.webhookAttemptsAtOnce): SendTurns {
  const lines = { live: createLine(), behind: createLine(), unproven: createLine() }
  const counts: Record<Standing, number> = { live: 0, behind: 0, unproven: 0 }
  let underWay = 0

  const standingOf = (lane: Lane): Standing => (lane.isProven ? lane.mode : 'unproven')
  const most = (lane: Lane): number => (lane.isProven ? LIMITS.webhookAttemptsPerEndpoint : 1)
  const isReady = (lane: Lane): boolean => lane.sending < most(lane) && hasWork(lane)

  function nextLine(): Standing | undefined {
    const { live, behind, unproven } = lines
    if (unproven.size > 0 && counts.unproven < AT_LEAST) return 'unproven'
    const isBehindShort = behind.size > 0 && counts.behind < AT_LEAST
    if (live.size > 0 && !(isBehindShort && counts.live > AT_LEAST)) return 'live'
    if (behind.size > 0) return 'behind'
    return unproven.size > 0 && counts.unproven < UNPROVEN_AT_MOST ? 'unproven' : undefined
  }

  function leaveLine(standing: Standing, lane: Lane): void {
    lane.isReady = false
    lines[standing].shift()
  }

  return {
    get underWay() {
      return underWay
    },
    offer(lane) {
      if (lane.isReady || !isReady(lane)) return
      lane.isReady = true
      lines[standingOf(lane)].push(lane)
    },
    take() {
      while (underWay < atOnce) {
        const standing = nextLine()
        const line = standing === undefined ? undefined : lines[standing]
        const lane = line?.first()
        if (standing === undefined || line === undefined || lane === undefined) return undefined
        if (!isReady(lane)) {
          leaveLine(standing, lane)
          continue
        }
        lane.sending += 1
        underWay += 1
        counts[standing] += 1
        line.turnsInARow += 1
        // Its attempts are begun together, so that they end together and share an event of its delivery log.
        if (line.turnsInARow >= most(lane)) leaveLine(standing, lane)
        return { lane, standing }
      }
      return undefined
    },
    done({ lane, standing }) {
      counts[standing] -= 1
      underWay -= 1
      lane.sending -= 1
    },
  }
}
