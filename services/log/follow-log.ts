import { assert } from '../../contracts/errors/assert.ts'
import { isErasable } from '../../contracts/events/streams.ts'
import type { RecordedEvent } from '../../contracts/infra/event.ts'
import { comparePositions, type Position } from '../../contracts/infra/position.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { WakeSignal } from '../runtime/async/wake-signal.ts'
import type { EventFilter, SubscriptionItem } from './event-store.ts'

/** A page of matching events, and how far the log was looked at to find them. */
export interface LogPage {
  readonly events: readonly RecordedEvent[]
  readonly lookedUpTo: Position
}

/**
 * A subscription over a log in the same process: pages of what is there, then a wait for the next append.
 * It is pulled, so a slow consumer holds one page and nothing else.
 */
export async function* followLog(
  start: Position,
  log: {
    readPage(after: Position, limit: number): LogPage
    head(): Position
    appended: WakeSignal
  },
  signal: AbortSignal,
): AsyncGenerator<SubscriptionItem, void, void> {
  let position = start
  let isCaughtUp = false
  while (!signal.aborted) {
    // Taken before the page is read, so that an append in between is not slept over.
    const seen = log.appended.count
    const page = log.readPage(position, LIMITS.readPageEvents)
    assert(page.events.length <= LIMITS.readPageEvents, 'a page of a subscription is within its limit')
    for (const event of page.events) {
      if (signal.aborted) return
      isCaughtUp = false
      assert(comparePositions(event.position, position) > 0, 'a subscription gives each event once', position)
      position = event.position
      yield { kind: 'event', event }
    }
    if (signal.aborted) return
    if (comparePositions(page.lookedUpTo, position) > 0) {
      position = page.lookedUpTo
      if (!signal.aborted) yield { kind: 'checkpoint', position }
    }
    assert(
      page.events.length === 0 || comparePositions(page.lookedUpTo, position) >= 0,
      'a page looks as far as its events',
      page.lookedUpTo,
    )
    if (comparePositions(position, log.head()) < 0) continue
    if (!isCaughtUp && !signal.aborted) {
      isCaughtUp = true
      yield { kind: 'caught-up', position }
    }
    await log.appended.wait(seen, signal)
  }
}

/** Whether an event is shown to who reads the log, and matches every given part of a filter. */
export function matchesFilter(
  event: { readonly stream: string; readonly type: string },
  filter: EventFilter | undefined,
): boolean {
  if (isErasable(event.stream)) return false
  if (filter === undefined) return true
  const { streamPrefixes, types } = filter
  if (types !== undefined && !types.includes(event.type)) return false
  return streamPrefixes === undefined || streamPrefixes.some((prefix) => event.stream.startsWith(prefix))
}
