import { assert } from '../../../contracts/assert.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { AttemptRoom } from './attempt-room.ts'
import { SLOW_MS } from './endpoint-moves.ts'
import type { Pace } from './endpoint-state.ts'

/** An endpoint as the scheduler sees it. */
export interface Schedulable {
  readonly hasWork: boolean
  readonly pace: Pace
  readonly isBehind: boolean
  /** Origin of its address; undefined before that is known. */
  readonly host: string | undefined
  readonly owner: string
}

/** One attempt that an endpoint may make. */
export interface Turn<Item> {
  readonly endpoint: Item
  /** Kind of slot that it takes: a quick attempt becomes limited once it takes long. */
  readonly counted: 'quick' | 'limited'
}

/** Slots that each line gets before the others take more, so that none starves. */
const AT_LEAST = 8

type LineName = 'live' | 'behind' | 'limited'
type Kind = 'quick' | 'limited'

interface Seat<Item> {
  readonly endpoint: Item
  /** The line in which it waits; undefined where it does not. */
  waits: { readonly line: LineName; readonly kind: Kind } | undefined
  /** It waits for places of its host or owner. */
  isParked: boolean
  sending: number
  /** Attempts under way that take long. */
  late: number
  /** When the attempts began that follow on each other without a break. */
  runningSinceMs: number
}

/** Places that those of one host, or of one owner, share. */
interface Group<Item> {
  readonly taken: Record<Kind, number>
  /** Seats that came first and found no slot, with what they waited for. */
  readonly waiting: Record<Kind, { readonly seat: Seat<Item>; readonly waits: Seat<Item>['waits'] }[]>
  /** Forgets it, once nobody has a place of it or waits for one. */
  readonly leave: () => void
}

interface OpenTurn<Item> extends Turn<Item> {
  readonly seat: Seat<Item>
  readonly groups: readonly Group<Item>[]
  readonly startedMs: number
  readonly line: LineName
  counted: Kind
  isDone: boolean
}

/** How many attempts of one endpoint go at a time. */
const mostOf = (kind: Kind): number => (kind === 'quick' ? LIMITS.webhookAttemptsPerEndpoint : 1)

/**
 * Decides which endpoint sends next. Slow endpoints, and those that did not take their latest delivery, get one slot
 * each and half of all slots at most; an attempt that takes long counts among them while it lasts. The endpoints of one
 * host, or of one owner, get half of the other slots and a quarter of the limited ones at most. A quick endpoint keeps
 * its slots until its batch of finished attempts is recorded; then it goes to the end of its line.
 */
export class Scheduler<Item extends Schedulable> {
  readonly #elapsed: () => number
  readonly #atOnce: number
  readonly #room: AttemptRoom
  readonly #limitedAtMost: number
  readonly #ofGroup: Readonly<Record<Kind, number>>
  readonly #lines = { live: createLine<Item>(), behind: createLine<Item>(), limited: createLine<Item>() }
  readonly #counts: Record<LineName, number> = { live: 0, behind: 0, limited: 0 }
  readonly #seats = new Map<Item, Seat<Item>>()
  readonly #owners = new Map<string, Group<Item>>()
  readonly #hosts = new Map<string, Group<Item>>()
  /** In the order in which they began. */
  #open: OpenTurn<Item>[] = []
  #front = 0
  #underWay = 0

  /** @param elapsed monotonic clock, milliseconds */
  constructor(elapsed: () => number, room: AttemptRoom, atOnce: number = LIMITS.webhookAttemptsAtOnce) {
    this.#elapsed = elapsed
    this.#room = room
    this.#atOnce = atOnce
    this.#limitedAtMost = atOnce / 2
    this.#ofGroup = { quick: atOnce / 2, limited: this.#limitedAtMost / 4 }
  }

  #seatOf(endpoint: Item): Seat<Item> {
    const known = this.#seats.get(endpoint)
    if (known !== undefined) return known
    const seat: Seat<Item> = {
      endpoint,
      waits: undefined,
      isParked: false,
      sending: 0,
      late: 0,
      runningSinceMs: 0,
    }
    this.#seats.set(endpoint, seat)
    return seat
  }

  #groupOf(groups: Map<string, Group<Item>>, key: string): Group<Item> {
    const known = groups.get(key)
    if (known !== undefined) return known
    const leave = (): void => void groups.delete(key)
    const group = { taken: { quick: 0, limited: 0 }, waiting: { quick: [], limited: [] }, leave }
    groups.set(key, group)
    return group
  }

  #groupsOf({ host, owner }: Item): readonly Group<Item>[] {
    const own = this.#groupOf(this.#owners, owner)
    return host === undefined ? [own] : [own, this.#groupOf(this.#hosts, host)]
  }

  /** The line that it may enter now; undefined where it has nothing to send, or no slot left. */
  #placeFor(seat: Seat<Item>): Seat<Item>['waits'] {
    const kind = kindOf(seat)
    const { hasWork, isBehind } = seat.endpoint
    if (!hasWork || seat.sending >= mostOf(kind)) return undefined
    if (kind === 'limited') return { line: 'limited', kind }
    return { line: isBehind ? 'behind' : 'live', kind }
  }

  #putInLine(seat: Seat<Item>): void {
    const place = this.#placeFor(seat)
    if (place === undefined) return
    const { waits } = seat
    if (waits?.line === place.line && waits.kind === place.kind) return
    seat.waits = place
    seat.isParked = false
    const goesOn = seat.sending > 0 && this.#elapsed() - seat.runningSinceMs < LIMITS.webhookRecordMs
    if (goesOn) this.#lines[place.line].pushInFront(seat, place)
    else this.#lines[place.line].push(seat, place)
  }

  /** Attempts that take long are counted among the slow while they last, so that their places go to others. */
  #countLate(): void {
    const since = this.#elapsed() - SLOW_MS
    for (; this.#front < this.#open.length; this.#front++) {
      const turn = this.#open[this.#front]
      if (turn === undefined || (!turn.isDone && turn.startedMs > since)) break
      if (turn.isDone || turn.counted === 'limited') continue
      this.#counts[turn.line] -= 1
      this.#counts.limited += 1
      for (const { taken } of turn.groups) {
        taken.quick -= 1
        taken.limited += 1
      }
      turn.counted = 'limited'
      turn.seat.late += 1
      this.#letIn(turn.groups, 'quick')
    }
    if (this.#front * 2 < this.#open.length) return
    this.#open = this.#open.slice(this.#front)
    this.#front = 0
  }

  #nextLine(): LineName | undefined {
    const { live, behind, limited } = this.#lines
    // Those that were found slow on their way do not take the places of the others.
    if (this.#underWay >= this.#atOnce + Math.max(0, this.#counts.limited - this.#limitedAtMost))
      return undefined
    if (limited.size > 0 && this.#counts.limited < AT_LEAST) return 'limited'
    const isRoomy = this.#counts.live + this.#counts.behind < this.#room.most
    const isBehindShort = behind.size > 0 && this.#counts.behind < AT_LEAST
    if (isRoomy && live.size > 0 && !(isBehindShort && this.#counts.live > AT_LEAST)) return 'live'
    if (isRoomy && behind.size > 0) return 'behind'
    return limited.size > 0 && this.#counts.limited < this.#limitedAtMost ? 'limited' : undefined
  }

  /** Places that a host or owner may take. */
  #shareOf(kind: Kind): number {
    return kind === 'quick' ? Math.min(this.#ofGroup.quick, this.#room.most / 2) : this.#ofGroup.limited
  }

  /** Takes the one in front out of its line; those who waited for a place that it does not take come in. */
  #park(seat: Seat<Item>, full: Group<Item>, all: readonly Group<Item>[]): void {
    const { waits } = seat
    if (waits === undefined) return
    seat.isParked = true
    full.waiting[waits.kind].push({ seat, waits })
    this.#letIn(
      all.filter((group) => group !== full),
      waits.kind,
    )
  }

  /** Gives those who wait for places of a group as many as it has. */
  #letIn(all: readonly Group<Item>[], kind: Kind): void {
    for (const group of all) {
      const waiting = group.waiting[kind]
      const each = mostOf(kind)
      for (let room = this.#shareOf(kind) - group.taken[kind]; room >= each && waiting.length > 0; ) {
        const next = waiting.shift()
        if (next === undefined || next.seat.waits !== next.waits) continue
        next.seat.waits = undefined
        this.#putInLine(next.seat)
        if (next.seat.waits !== undefined) room -= each
      }
      if (isEmpty(group)) group.leave()
    }
  }

  #begin(seat: Seat<Item>, line: LineName, own: OpenTurn<Item>['groups']): OpenTurn<Item> {
    const counted: Kind = line === 'limited' ? 'limited' : 'quick'
    const startedMs = this.#elapsed()
    const isOnItsWay = seat.sending > 0 && startedMs - seat.runningSinceMs < LIMITS.webhookRecordMs
    if (!isOnItsWay) seat.runningSinceMs = startedMs
    seat.sending += 1
    this.#underWay += 1
    this.#counts[line] += 1
    for (const { taken } of own) {
      taken[counted] += 1
      assert(taken[counted] <= this.#ofGroup[counted], 'a host or owner has its share', taken[counted])
    }
    assert(seat.sending <= mostOf(counted), 'an endpoint has its places at most', seat.sending)
    const turn: OpenTurn<Item> = {
      endpoint: seat.endpoint,
      seat,
      groups: own,
      startedMs,
      line,
      counted,
      isDone: false,
    }
    this.#open.push(turn)
    return turn
  }

  /** Queues an endpoint, if it has work and room and is not queued yet. */
  offer(endpoint: Item): void {
    if (endpoint.hasWork) this.#putInLine(this.#seatOf(endpoint))
  }

  /** Counts an attempt for the next in line; undefined where there is none, or no room. */
  take(): Turn<Item> | undefined {
    this.#countLate()
    for (let name = this.#nextLine(); name !== undefined; name = this.#nextLine()) {
      const line = this.#lines[name]
      const waiting = line.first()
      if (waiting === undefined) return undefined
      const { seat, waits } = waiting
      const isOld = seat.waits !== waits
      const place = isOld ? undefined : this.#placeFor(seat)
      if (isOld || place?.line !== name) {
        line.shift()
        if (isOld) continue
        seat.waits = undefined
        this.#putInLine(seat)
        continue
      }
      const own = this.#groupsOf(seat.endpoint)
      // One that begins waits for room for all of its attempts, so that they go together.
      const needs = line.turnsInARow === 0 ? mostOf(place.kind) - seat.sending : 1
      const full = own.find(({ taken }) => taken[place.kind] + needs > this.#shareOf(place.kind))
      if (full !== undefined) {
        line.shift()
        this.#park(seat, full, own)
        continue
      }
      const turn = this.#begin(seat, name, own)
      line.turnsInARow += 1
      // Its attempts are begun together, so that they end together and share an event of its delivery log.
      if (line.turnsInARow >= mostOf(place.kind)) {
        line.shift()
        seat.waits = undefined
      }
      return turn
    }
    return undefined
  }

  /** Ends an attempt. */
  done(given: Turn<Item>): void {
    const turn = given as OpenTurn<Item>
    assert(!turn.isDone, 'a turn ends once')
    turn.isDone = true
    if (turn.line !== 'limited') this.#room.ended(this.#elapsed() - turn.startedMs)
    this.#underWay -= 1
    this.#counts[turn.counted === 'limited' ? 'limited' : turn.line] -= 1
    turn.seat.sending -= 1
    assert(this.#underWay >= 0 && turn.seat.sending >= 0, 'places are given back once', this.#underWay)
    if (turn.counted === 'limited' && turn.line !== 'limited') turn.seat.late -= 1
    for (const { taken } of turn.groups) {
      taken[turn.counted] -= 1
      assert(taken[turn.counted] >= 0, 'a group has no fewer than no places', taken[turn.counted])
    }
    this.#letIn(turn.groups, turn.counted)
  }

  /** Whether an attempt of it has not ended its POST yet. */
  isSending(endpoint: Item): boolean {
    return (this.#seats.get(endpoint)?.sending ?? 0) > 0
  }

  /** Whether it is quick and waits only for its turn: not for slots of its own host or owner. */
  isHeldUp(endpoint: Item): boolean {
    const seat = this.#seats.get(endpoint)
    return seat?.waits?.line === 'live' && !seat.isParked
  }

  /** Takes an endpoint out of every line. */
  drop(endpoint: Item): void {
    const seat = this.#seats.get(endpoint)
    if (seat !== undefined) seat.waits = undefined
    this.#seats.delete(endpoint)
  }
}

const kindOf = <Item extends Schedulable>({ endpoint, late }: Seat<Item>): Kind =>
  endpoint.pace === 'quick' && late === 0 ? 'quick' : 'limited'

const isEmpty = <Item>({ taken, waiting }: Group<Item>): boolean =>
  taken.quick === 0 && taken.limited === 0 && waiting.quick.length === 0 && waiting.limited.length === 0

/** A queue of seats; both ends cost the same at any length. */
function createLine<Item>() {
  type Waiting = { readonly seat: Seat<Item>; readonly waits: Seat<Item>['waits'] }
  let waiting: Waiting[] = []
  let front = 0
  return {
    /** Turns that the one in front has had without a break. */
    turnsInARow: 0,
    get size() {
      return waiting.length - front
    },
    push(seat: Seat<Item>, waits: Seat<Item>['waits']): void {
      waiting.push({ seat, waits })
    },
    pushInFront(seat: Seat<Item>, waits: Seat<Item>['waits']): void {
      this.turnsInARow = 0
      if (front === 0) waiting.unshift({ seat, waits })
      else waiting[--front] = { seat, waits }
    },
    first: (): Waiting | undefined => waiting[front],
    shift(): void {
      front += 1
      this.turnsInARow = 0
      if (front * 2 < waiting.length) return
      waiting = waiting.slice(front)
      front = 0
    },
  }
}
