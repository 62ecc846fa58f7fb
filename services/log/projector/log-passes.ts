import { setImmediate } from 'node:timers/promises'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions, earlier, later, type Position, START } from '../../../contracts/position.ts'
import type { Projection } from '../../../projections/projection.ts'
import { batchesOf } from '../../runtime/async/batches.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { EventStore, LookedAt } from '../event-store.ts'
import type { RowTables } from './row-tables.ts'

/** A read model on its way through the log. */
export interface Follower {
  readonly name: string
  readonly version: number
  /** Types of the events that it folds. */
  readonly types: ReadonlySet<string>
  /** Everything up to here is folded. */
  readonly reached: Position
  /** Folds the events that come next, up to a position. @returns whether it is to be written now */
  fold(events: readonly RecordedEvent[], upTo: Position, isDue: boolean): boolean
  /** Writes what was folded since it was written last, in the transaction of its file. */
  write(): void
  /** Called after the commit. @returns whether the read model goes on */
  committed(): boolean
}

/**
 * Pages of the past after which a read model is written at the latest, each in another turn, since callers wait meanwhile:
 * rows that change again and again are written once. A crash has so many pages read again.
 */
const PAST_TURNS = 64
/**
 * New events after which rows and checkpoints are written, and how long they wait for that. Events that follow one another
 * change the same rows again and again, and a commit costs as much as a hundred rows.
 */
const LIVE_EVENTS = 512
const LIVE_MS = 100

interface Member {
  readonly follower: Follower
  /** It leaves there. */
  readonly upTo?: Position
  readonly left: PromiseWithResolvers<boolean>
  /** The turns of a pass in which it is written, by their remainder. */
  readonly writtenAt: number
}

/** One way through the log; it ends when nobody takes it any more. */
interface Pass {
  readonly members: Set<Member>
  ending: AbortController
}
const newPass = (): Pass => ({ members: new Set(), ending: new AbortController() })

/**
 * Ways through the log. Read models that stand at the same place take one together: each event is read and parsed once for
 * all of them, and what changes in one file is one transaction.
 */
export class LogPasses {
  readonly #store: EventStore
  readonly #tables: RowTables
  readonly #allTypes: readonly string[]
  /** Names of those that may leave data unparsed. */
  readonly #recorded: ReadonlySet<string>
  readonly #sleep: Clock['sleep']
  /** Passes that have not begun, by the place where they begin. */
  readonly #gathering = new Map<Position, Pass>()
  readonly #live = newPass()
  #livePosition: Position = START
  #isWritingSoon = false
  #lastTurn: Promise<void> = Promise.resolve()

  constructor(store: EventStore, tables: RowTables, all: readonly Projection[], sleep: Clock['sleep']) {
    this.#store = store
    this.#tables = tables
    this.#allTypes = [...new Set(all.flatMap(({ events }) => events))]
    this.#recorded = new Set(all.flatMap(({ needs, name }) => (needs === 'recorded' ? [name] : [])))
    this.#sleep = sleep
  }

  /** Folds the past up to a position. Resolves false where the read model stops on its way, or the signal is aborted. */
  catchUp(follower: Follower, upTo: Position, signal: AbortSignal): Promise<boolean> {
    const after = follower.reached
    const gathering = this.#gathering.get(after)
    const pass = gathering ?? newPass()
    const left = join(pass, { follower, upTo }, signal)
    if (gathering === undefined) {
      this.#gathering.set(after, pass)
      void this.#goThrough(pass, after)
    }
    return left
  }

  /** Folds what is appended from now on. Resolves when the read model stops, or the signal is aborted. */
  follow(follower: Follower, signal: AbortSignal): Promise<boolean> {
    const isFirst = this.#live.members.size === 0
    const left = join(this.#live, { follower }, signal)
    // The others let pass what they have folded already.
    if (isFirst || comparePositions(follower.reached, this.#livePosition) < 0)
      void this.#follow(follower.reached)
    return left
  }

  /** Writes what those that follow the log have folded. */
  flush(): void {
    this.#advance(this.#live, [], this.#livePosition, () => true)
  }

  async #writeSoon(signal: AbortSignal): Promise<void> {
    if (this.#isWritingSoon) return
    this.#isWritingSoon = true
    await this.#sleep(LIVE_MS, signal)
    this.#isWritingSoon = false
    this.flush()
  }

  async #goThrough(pass: Pass, after: Position): Promise<void> {
    // Others that stand here begin in the same turn.
    await setImmediate()
    this.#gathering.delete(after)
    const { members, ending } = pass
    const types = [...new Set([...members].flatMap(({ follower }) => [...follower.types]))]
    const upTo = [...members].map((member) => member.upTo ?? after).reduce(later, after)
    let batch: RecordedEvent[] = []
    let pages = 0
    const give = (to: Position): void => {
      const turn = pages++ % PAST_TURNS
      this.#advance(pass, batch, to, ({ writtenAt }) => turn === writtenAt)
      batch = []
    }
    const onLooked = async (seen: LookedAt): Promise<void> => {
      // A short past is folded at once: nobody is served before that.
      if (pages > 0) await this.#turn()
      give(seen.upTo)
    }
    try {
      const { signal } = ending
      const asText = [...members].every(({ follower }) => this.#recorded.has(follower.name))
      const options = { after, upTo, filter: { types }, signal, onLooked, asText }
      for await (const event of this.#store.readAll(options)) {
        if (signal.aborted) return
        batch.push(event)
      }
      if (!signal.aborted) give(upTo)
    } catch (error) {
      leaveAll(pass, error)
    }
  }

  /** One page of the past in a turn of the event loop, for all passes together: callers have turns in between. */
  #turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => setImmediate())
    return this.#lastTurn
  }

  async #follow(after: Position): Promise<void> {
    const live = this.#live
    live.ending.abort()
    live.ending = new AbortController()
    const { signal } = live.ending
    this.#livePosition = after
    let unwritten = 0
    try {
      const items = this.#store.subscribe({ after, filter: { types: this.#allTypes }, signal })
      for await (const batch of batchesOf(items, LIMITS.projectionBatchEvents)) {
        const last = batch.at(-1)
        if (signal.aborted || last === undefined) return
        const events = batch.flatMap((item) => (item.kind === 'event' ? [item.event] : []))
        this.#livePosition = last.kind === 'event' ? last.event.position : last.position
        unwritten += events.length
        const isDue = unwritten >= LIVE_EVENTS
        this.#advance(live, events, this.#livePosition, () => isDue)
        if (isDue) unwritten = 0
        else void this.#writeSoon(signal)
      }
      if (!signal.aborted) leaveAll(live)
    } catch (error) {
      if (!signal.aborted) leaveAll(live, error)
    }
  }

  #advance(pass: Pass, events: readonly RecordedEvent[], to: Position, isDue: (of: Member) => boolean): void {
    const due: Member[] = []
    for (const member of pass.members) {
      const { follower, upTo = to } = member
      const until = earlier(to, upTo)
      try {
        const isWritten = until === member.upTo || isDue(member)
        if (follower.fold(wanted(events, follower, until), until, isWritten)) due.push(member)
      } catch (error) {
        leave(pass, member, error)
      }
    }
    const fileOf = ({ follower }: Member) => this.#tables.fileOf(follower.name, follower.version)
    for (const members of Map.groupBy(due, fileOf).values()) this.#commit(pass, members)
    for (const member of pass.members) if (member.upTo === member.follower.reached) leave(pass, member, true)
  }

  /** Commits what changes in one file; one by one where that fails, so that one that cannot be written holds up no other. */
  #commit(pass: Pass, members: readonly Member[]): void {
    const [first] = members
    if (first === undefined) return
    const { name, version } = first.follower
    try {
      this.#tables.inTransaction(name, version, () => {
        for (const { follower } of members) follower.write()
      })
    } catch (error) {
      if (members.length === 1) leave(pass, first, error)
      else for (const member of members) this.#commit(pass, [member])
      return
    }
    for (const member of members) if (!member.follower.committed()) leave(pass, member, false)
  }
}

function join(pass: Pass, given: Pick<Member, 'follower' | 'upTo'>, signal: AbortSignal): Promise<boolean> {
  const writtenAt = pass.members.size % PAST_TURNS
  const member = { ...given, writtenAt, left: Promise.withResolvers<boolean>() }
  const { promise } = member.left
  pass.members.add(member)
  const stop = (): void => leave(pass, member, false)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  return promise.finally(() => signal.removeEventListener('abort', stop))
}

/** @param outcome whether it came to where it wanted, or the error that it left with */
function leave({ members, ending }: Pass, member: Member, outcome: unknown): void {
  members.delete(member)
  if (members.size === 0) ending.abort()
  if (typeof outcome === 'boolean') member.left.resolve(outcome)
  else member.left.reject(outcome)
}

function leaveAll(pass: Pass, outcome: unknown = false): void {
  for (const member of pass.members) leave(pass, member, outcome)
}

/** Events that a read model folds and has not folded yet. */
const wanted = (events: readonly RecordedEvent[], { types, reached }: Follower, upTo: Position) =>
  events.filter(
    ({ type, position }) =>
      types.has(type) && comparePositions(position, reached) > 0 && comparePositions(position, upTo) <= 0,
  )
