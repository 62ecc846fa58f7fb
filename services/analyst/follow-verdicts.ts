import { LIMITS } from '../../contracts/limits.ts'
import { later, type Position } from '../../contracts/position.ts'
import { type VerdictRow, verdictRow } from '../../contracts/verdict-row.ts'
import type { EventStore } from '../log/event-store.ts'
import type { Clock } from '../runtime/async/clock.ts'
import { createDecidedTimes, type DecidedTimes } from './decided-times.ts'
import { createLogArrivals } from './log-arrivals.ts'
import { matchingVerdicts, type RecordedVerdict, scanned } from './matching-verdicts.ts'
import { createOpenWindows, type OpenWindows } from './open-windows.ts'
import { createLook, formatCursor, type ReplayCursor } from './replay-cursor.ts'
import { isCallAsked, type ReplayFilter } from './replay-filter.ts'

export interface FollowOptions {
  readonly filter: ReplayFilter
  /** Behind which row to go on; without it, with the verdicts that are recorded from now on. */
  readonly after?: ReplayCursor
  /** Market time, Unix milliseconds, never falling. Always Infinity shows verdicts as they are recorded. */
  readonly now: () => number
  /** Ends after some milliseconds, or at once when the signal is aborted; does not reject. */
  readonly sleep: Clock['sleep']
  /** Ends the following, quietly. */
  readonly signal: AbortSignal
}

/** A verdict that became visible, or a sign that nothing did for a while; one comes at the beginning. */
export type FollowItem =
  | {
      readonly kind: 'verdict'
      readonly row: VerdictRow
      /** Position of its event in the log. */
      readonly position: Position
    }
  | { readonly kind: 'quiet' }

/** Interval between checks for windows that have closed. */
const LOOK_MS = 250
const LOOKS_PER_QUIET = LIMITS.heartbeatMs / LOOK_MS

/**
 * Recorded verdicts as they become visible: each once, what came before `after` left out, and none before its window
 * has closed. Those that become visible together come in the order of the log. The cursor in each row continues after
 * it, here and in `replayVerdicts`. It is pulled: a slow reader holds a page of the log.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function* followVerdicts(
  store: EventStore,
  options: FollowOptions,
): AsyncGenerator<FollowItem, void, void> {
  const ending = new AbortController()
  const signal = AbortSignal.any([options.signal, ending.signal])
  const windows = createOpenWindows()
  const decided = createDecidedTimes(store, { upTo: undefined, signal })
  const itemOf = itemsWith(decided)
  const head = await store.head()
  yield { kind: 'quiet' }
  yield* clockReached(options.after, options)
  let from: ReplayCursor = { complete: head, looked: head, asOf: 0 }
  if (options.after !== undefined)
    from = yield* catchUp(store, options, { after: options.after, head, windows, itemOf })
  const after = later(from.looked, head)
  const arrivals = createLogArrivals(store, { ...options, after, signal })
  try {
    for (let looks = 1; ; looks++) {
      const fresh = await arrivals.take(LOOK_MS)
      if (fresh === undefined || signal.aborted) return
      const asOf = Math.max(from.asOf, options.now())
      yield* closedSince(store, options, { from, asOf, windows, itemOf })
      for (const { event, previous } of fresh) {
        const isOpen = event.data.validUntil > asOf
        if (isOpen) windows.add(previous, event.position, event.data.validUntil)
        from = { complete: windows.floor() ?? event.position, looked: event.position, asOf }
        if (!isOpen && isCallAsked(options.filter, event.data)) yield await itemOf(event, from)
      }
      from = { complete: windows.floor() ?? from.looked, looked: from.looked, asOf }
      if (fresh.length > 0) looks = 0
      else if (looks % LOOKS_PER_QUIET === 0) yield { kind: 'quiet' }
    }
  } finally {
    ending.abort()
    await arrivals.ended()
  }
}

/** Waits until the clock here has reached the times in a cursor, so that the following rows continue it. */
async function* clockReached(
  after: ReplayCursor | undefined,
  { now, sleep, signal }: FollowOptions,
): AsyncGenerator<FollowItem, void, void> {
  const until = Math.max(after?.asOf ?? 0, after?.second?.asOf ?? 0)
  for (let looks = 1; now() < until && !signal.aborted; looks++) {
    await sleep(LOOK_MS, signal)
    if (looks % LOOKS_PER_QUIET === 0) yield { kind: 'quiet' }
  }
}

/**
 * Yields the visible verdicts after a cursor in the log so far, and notes the others. A look that was cut short goes on
 * as of its own time; what has closed since then is noted too, and due at once.
 */
async function* catchUp(
  store: EventStore,
  { filter, now, signal }: FollowOptions,
  { after, head, windows, itemOf }: Looking & { readonly after: ReplayCursor; readonly head: Position },
): AsyncGenerator<FollowItem, ReplayCursor, void> {
  const asOf = after.second?.asOf ?? now()
  const look = createLook(after, asOf)
  let previous = look.readAfter
  const events = matchingVerdicts(store, { filter, after: look.readAfter, upTo: head, signal })
  for await (const event of events) {
    const cursor = look.offer(event.position, event.data.validUntil)
    if (cursor !== undefined && isCallAsked(filter, event.data)) yield await itemOf(event, cursor)
    if (event.data.validUntil > asOf) windows.add(previous, event.position, event.data.validUntil)
    previous = event.position
  }
  return look.end()
}

/** Shows what was withheld up to a cursor and has closed since, as a second look at that stretch. */
async function* closedSince(
  store: EventStore,
  { filter, signal }: FollowOptions,
  { from, asOf, windows, itemOf }: Looking & { readonly from: ReplayCursor; readonly asOf: number },
): AsyncGenerator<FollowItem, void, void> {
  for (const { after, upTo } of windows.takeDue(asOf)) {
    for await (const event of scanned(store, { filter, after, upTo, signal })) {
      const { validUntil } = event.data
      if (validUntil <= from.asOf || validUntil > asOf || !isCallAsked(filter, event.data)) continue
      yield await itemOf(event, { ...from, second: { at: event.position, asOf } })
    }
  }
}

interface Looking {
  readonly windows: OpenWindows
  readonly itemOf: ItemOf
}

type ItemOf = (event: RecordedVerdict, cursor: ReplayCursor) => Promise<FollowItem>

const itemsWith =
  (decided: DecidedTimes): ItemOf =>
  async (event, cursor) => ({
    kind: 'verdict',
    position: event.position,
    row: verdictRow(event.data, formatCursor(cursor), event.at, await decided.of(event.data)),
  })
