import {
  type AllStreamSubscription,
  eventTypeFilter,
  type Filter,
  type Position as LogPosition,
  streamNameFilter,
} from '@eventstore/db-client'
import { isServiceError, ServiceError } from '../../../../contracts/errors.ts'
import { LIMITS } from '../../../../contracts/limits.ts'
import { comparePositions, type Position } from '../../../../contracts/position.ts'
import { matchesFilter } from '../event-filter.ts'
import type { EventFilter, SubscribeOptions, SubscriptionItem } from '../event-store.ts'
import { readFailure } from './client-error.ts'
import { pullEvents } from './event-pull.ts'
import { type ReadContext, readHead } from './read-events.ts'
import { parseStored, toLogPosition, toPosition } from './recorded-event.ts'

/** Wait before the first try to resume a broken subscription; it doubles with each try that fails. */
const FIRST_RESUME_DELAY_MS = 100
/** Longest wait between two tries. */
const MAX_RESUME_DELAY_MS = 10_000

export interface FollowContext extends ReadContext {
  /** From 0 up to, but not including, 1. */
  readonly random: () => number
  /** Resolves after the time, or as soon as the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Told of each break and of the wait before the next try. */
  readonly onSubscriptionBreak: (error: ServiceError, resumeInMs: number) => void
}

/**
 * A subscription that outlives the server's: whatever ends it, an error or a silent end, it goes on after
 * the last position that was given. Only an event that cannot be read ends it, with its error.
 */
export async function* followAll(
  context: FollowContext,
  { after, filter, signal }: SubscribeOptions,
): AsyncGenerator<SubscriptionItem, void, void> {
  let position = after === 'end' ? undefined : after
  if (position !== undefined) toLogPosition(position)
  let failures = 0
  while (!signal.aborted) {
    let reason: ServiceError
    try {
      const head = await readHead(context, signal)
      position ??= head
      for await (const item of followOnce(context, { position, head, filter, signal })) {
        failures = 0
        position = item.kind === 'event' ? item.event.position : item.position
        yield item
      }
      reason = new ServiceError('store_unavailable', { message: 'the subscription ended without an error' })
    } catch (error) {
      reason = readFailure(error, 'subscription')
      if (isServiceError(reason, 'event_unreadable')) throw reason
    }
    if (signal.aborted) return
    const delayMs = resumeDelayMs(failures, context.random)
    failures += 1
    context.onSubscriptionBreak(reason, delayMs)
    await context.sleep(delayMs, signal)
  }
}

/** Half of the doubling delay, and a random share of the other half, so that clients do not come back as one. */
function resumeDelayMs(failures: number, random: () => number): number {
  const ceiling = Math.min(FIRST_RESUME_DELAY_MS * 2 ** failures, MAX_RESUME_DELAY_MS)
  return Math.round(ceiling * (0.5 + random() / 2))
}

interface Stretch {
  /** Exclusive. */
  readonly position: Position
  /** The log's head, read before the subscription: it has all been looked at once the server has caught up. */
  readonly head: Position
  readonly filter: EventFilter | undefined
  readonly signal: AbortSignal
}

/** One subscription of the client, until it ends or breaks. */
async function* followOnce(
  { client }: ReadContext,
  { position: start, head, filter, signal }: Stretch,
): AsyncGenerator<SubscriptionItem, void, void> {
  if (signal.aborted) return
  let position = start
  let taken = 0
  const marks = createMarks()
  const mark = (kind: Mark['kind'], at: Position): void => {
    marks.add({ kind, afterEvents: taken + pull.ready, position: at })
    pull.wake()
  }
  const subscription: AllStreamSubscription = client.subscribeToAll({
    fromPosition: toLogPosition(start),
    filter: toServerFilter(filter, (checkpoint) => mark('checkpoint', checkpoint)),
  })
  const pull = pullEvents({ stream: subscription, cancel: () => subscription.unsubscribe() })
  subscription.on('caughtUp', () => mark('caught-up', head))
  signal.addEventListener('abort', pull.wake)
  try {
    while (!signal.aborted) {
      const due = marks.takeDue(taken)
      if (due !== undefined) {
        const isNews = comparePositions(due.position, position) > 0
        if (isNews) position = due.position
        if (isNews || due.kind === 'caught-up') yield { kind: due.kind, position }
        continue
      }
      const next = pull.take()
      if (next === undefined) {
        if (pull.ended) return
        await pull.change()
        continue
      }
      taken += 1
      const event = parseStored(next)?.event
      if (event === undefined || comparePositions(event.position, position) <= 0) continue
      if (!matchesFilter(event, filter)) continue
      position = event.position
      yield { kind: 'event', event }
    }
  } finally {
    signal.removeEventListener('abort', pull.wake)
    pull.cancel()
  }
}

interface Mark {
  readonly kind: 'checkpoint' | 'caught-up'
  /** How many events of the subscription come before it. */
  readonly afterEvents: number
  readonly position: Position
}

/**
 * Checkpoints and caught-up marks reach us beside the events, ahead of those that wait to be taken. Each is
 * kept with the number of events that come before it. A checkpoint replaces one that nothing came after, so
 * that there are never more marks than events waiting.
 */
function createMarks(): { add(mark: Mark): void; takeDue(taken: number): Mark | undefined } {
  const marks: Mark[] = []
  return {
    add(mark) {
      const last = marks.at(-1)
      if (last?.kind === mark.kind && last.afterEvents === mark.afterEvents) marks.pop()
      marks.push(mark)
    },
    takeDue(taken) {
      const first = marks[0]
      return first !== undefined && first.afterEvents <= taken ? marks.shift() : undefined
    },
  }
}

/**
 * The part of a filter that the server can apply: it takes stream names or event types, not both. What it
 * lets through is matched again here. Prefixes are used for types too, because the server's regular
 * expressions are of another dialect; without a filter only EventStoreDB's own streams are left out.
 */
function toServerFilter(filter: EventFilter | undefined, onCheckpoint: (position: Position) => void): Filter {
  const options = {
    maxSearchWindow: LIMITS.readPageEvents,
    checkpointInterval: 1,
    // Synchronous and without a way to fail: the client stops for good, silently, when this rejects.
    checkpointReached: (_subscription: AllStreamSubscription, position: LogPosition) =>
      onCheckpoint(toPosition(position)),
  }
  const { streamPrefixes = [], types = [] } = filter ?? {}
  if (streamPrefixes.length > 0) return streamNameFilter({ ...options, prefixes: [...streamPrefixes] })
  if (types.length > 0) return eventTypeFilter({ ...options, prefixes: [...types] })
  return streamNameFilter({ ...options, regex: '^[^$]' })
}
