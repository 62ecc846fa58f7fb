import { setImmediate } from 'node:timers/promises'
import type { RecordedEvent } from '../../../contracts/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { comparePositions, earlier, later, type Position, START } from '../../../contracts/position.ts'
import { batchesOf } from '../../runtime/async/batches.ts'
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
  /**
   * Folds the events that come next, up to a position.
   * @returns undefined where nothing is to be written
   */
  fold(events: readonly RecordedEvent[], upTo: Position, writes: Writes): Folded | undefined
}

/** Whether what was folded is written now: never, where a row changes, or the checkpoint in any case. */
export type Writes = 'nothing' | 'changes' | 'checkpoint'

/** Changes of a read model that are not committed yet. */
export interface Folded {
  write(): void
  /** Called after the commit. @returns whether the read model goes on */
  committed(): boolean
}

/**
 * Pages of the past after which a read model is written, each in another turn, since callers wait meanwhile: rows that
 * change again and again are written once. A crash has so many pages read again.
 */
const PAST_TURNS = 16
/** Batches of new events after which each checkpoint is written: a crash has no more of them read again. */
const LIVE_BATCHES = 64

interface Member {
  readonly follower: Follower
  /** It leaves there. */
  readonly upTo?: Position
  readonly left: PromiseWithResolvers<boolean>
  /** The turns of a pass in which it is written, by their remainder. */
  readonly writtenAt: number
}

type Due = (member: Member) => Writes

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
  /** Passes that have not begun, by the place where they begin. */
  readonly #gathering = new Map<Position, Pass>()
  readonly #live = newPass()
  #livePosition: Position = START
  #lastTurn: Promise<void> = Promise.resolve()

  constructor(store: EventStore, tables: RowTables, allTypes: readonly string[]) {
    this.#store = store
    this.#tables = tables
    this.#allTypes = allTypes
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

  /** Writes the checkpoints of those that follow the log. */
  flush(): void {
    this.#advance(this.#live, [], this.#livePosition, () => 'checkpoint')
  }

  async #goThrough(pass: Pass, after: Position): Promise<void> {
    // Others that stand here begin in the same turn.
    await setImmediate()
    this.#gathering.delete(after)
    const { members, ending } = pass
    const types = [...new Set([...members].flatMap(({ follower }) => [...follower.types]))]
    const upTo = [...members].map((member) => member.upTo ?? after).reduce(later, after)
    let batch: RecordedEvent[] = []
    let [turns, pages] = [0, 0]
    const give = (to: Position): void => {
      const turn = turns++ % PAST_TURNS
      this.#advance(pass, batch, to, ({ writtenAt }) => (turn === writtenAt ? 'checkpoint' : 'nothing'))
      batch = []
    }
    const onLooked = async (seen: LookedAt): Promise<void> => {
      // A short past is folded at once: nobody is served before that.
      if (pages++ > 0) await this.#turn()
      give(seen.upTo)
    }
    try {
      const { signal } = ending
      for await (const event of this.#store.readAll({ after, upTo, filter: { types }, signal, onLooked })) {
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
    let batches = 0
    try {
      const items = this.#store.subscribe({ after, filter: { types: this.#allTypes }, signal })
      for await (const batch of batchesOf(items, LIMITS.projectionBatchEvents)) {
        const last = batch.at(-1)
        if (signal.aborted || last === undefined) return
        const events = batch.flatMap((item) => (item.kind === 'event' ? [item.event] : []))
        this.#livePosition = last.kind === 'event' ? last.event.position : last.position
        const writes = ++batches % LIVE_BATCHES === 0 ? 'checkpoint' : 'changes'
        this.#advance(live, events, this.#livePosition, () => writes)
      }
      if (!signal.aborted) leaveAll(live)
    } catch (error) {
      if (!signal.aborted) leaveAll(live, error)
    }
  }

  #advance(pass: Pass, events: readonly RecordedEvent[], to: Position, writesOf: Due): void {
    const byFile = new Map<unknown, Change[]>()
    for (const member of pass.members) {
      const { follower, upTo = to } = member
      const until = earlier(to, upTo)
      try {
        const writes = until === member.upTo ? 'checkpoint' : writesOf(member)
        const folded = follower.fold(wanted(events, follower, until), until, writes)
        if (folded === undefined) continue
        const file = this.#tables.fileOf(follower.name, follower.version)
        byFile.set(file, [...(byFile.get(file) ?? []), { member, folded }])
      } catch (error) {
        leave(pass, member, error)
      }
    }
    for (const changes of byFile.values()) this.#commit(pass, changes)
    for (const member of pass.members) if (member.upTo === member.follower.reached) leave(pass, member, true)
  }

  /** Commits what changes in one file; one by one where that fails, so that one that cannot be written holds up no other. */
  #commit(pass: Pass, changes: readonly Change[]): void {
    const [first] = changes
    if (first === undefined) return
    const { name, version } = first.member.follower
    try {
      this.#tables.inTransaction(name, version, () => {
        for (const { folded } of changes) folded.write()
      })
    } catch (error) {
      if (changes.length === 1) leave(pass, first.member, error)
      else for (const change of changes) this.#commit(pass, [change])
      return
    }
    for (const { member, folded } of changes) if (!folded.committed()) leave(pass, member, false)
  }
}

interface Change {
  readonly member: Member
  readonly folded: Folded
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
function wanted(
  events: readonly RecordedEvent[],
  { types, reached }: Follower,
  upTo: Position,
): readonly RecordedEvent[] {
  const ofItsTypes = events.filter(({ type }) => types.has(type))
  const [first, last] = [ofItsTypes[0], ofItsTypes.at(-1)]
  if (first === undefined || last === undefined) return ofItsTypes
  if (comparePositions(first.position, reached) > 0 && comparePositions(last.position, upTo) <= 0)
    return ofItsTypes
  return ofItsTypes.filter(
    ({ position }) => comparePositions(position, reached) > 0 && comparePositions(position, upTo) <= 0,
  )
}
