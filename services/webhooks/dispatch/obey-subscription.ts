import { isSending, type Subscription } from '../../../projections/index.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { DeliveryJournal } from '../deliveries/delivery-journal.ts'
import type { CatchUp } from './catch-up.ts'
import { HEALTHY } from './decide-attempt.ts'
import { findReplayed } from './find-replayed.ts'
import type { Lane } from './lane.ts'

export interface ObedienceOptions {
  readonly store: EventStore
  readonly catchUp: CatchUp
  readonly journalOf: (lane: Lane) => Promise<DeliveryJournal>
  readonly close: (lane: Lane) => void
  /** Something may be there to send for it. */
  readonly offer: (lane: Lane) => void
  /** A replay could not be looked for: it is to be tried again in a while. */
  readonly onReplayNotFound: (lane: Lane) => void
  readonly report: (error: unknown) => void
}

/** Does what the stream of a subscription says. */
export interface Obedience {
  /** Takes the newest state of a subscription; what may not be sent any more is not begun from here on. */
  obey(lane: Lane, now: Subscription): void
  /** Puts the deliveries of replays in line that are not sent through. */
  replay(lane: Lane): Promise<void>
}

export function createObedience(options: ObedienceOptions): Obedience {
  const { store, catchUp, journalOf, close, offer, onReplayNotFound, report } = options
  /** Replays that are being sent, or were looked for. */
  const known = new WeakMap<Lane, Set<string>>()

  async function resume(lane: Lane): Promise<void> {
    const journal = await journalOf(lane)
    await journal.forgiveFailures()
    await journal.move(lane.subscription, lane.underWay)
    if (lane.isClosed) return
    // Its owner may have moved it again meanwhile: that resumption goes on then.
    lane.isMoving = (lane.subscription.moved?.revision ?? -1) > (journal.state.movedBy ?? -1)
    lane.health = HEALTHY
    lane.due.clear()
    for (const sequence of journal.state.open.keys()) lane.due.add(sequence)
    catchUp.fallBehind(lane)
    await catchUp.read(lane)
    await replay(lane)
    offer(lane)
  }

  async function replay(lane: Lane): Promise<void> {
    const asked = lane.subscription.replays
    const looked = known.get(lane) ?? new Set()
    known.set(lane, looked)
    for (const request of asked) {
      if (looked.has(request.replayId)) continue
      looked.add(request.replayId)
      try {
        const { state } = await journalOf(lane)
        const through = state.replays.get(request.replayId) ?? 0
        if (through >= request.toSequence) continue
        const items = await findReplayed(store, lane.subscription.subscriptionId, request, through)
        lane.replays.push(...items.map((item) => ({ item, tries: 0 })))
      } catch (error) {
        looked.delete(request.replayId)
        onReplayNotFound(lane)
        throw error
      }
    }
    offer(lane)
  }

  return {
    replay,
    obey(lane, now) {
      const before = lane.subscription
      if (now.revision <= before.revision || lane.isClosed) return
      lane.subscription = now
      if (now.state === 'removed') return close(lane)
      const isMoved = before.moved !== now.moved
      const isResumed = now.state === 'active' && (before.state !== 'active' || isMoved)
      if (isMoved) {
        // What is begun from here on would have numbers that the moved cursor gives to others. And where the pass
        // stands says nothing about a cursor that is moved back.
        lane.isMoving = true
        catchUp.fallBehind(lane)
      }
      const hasRecovered = before.state === 'degraded' && lane.health.state === 'active'
      if (!isSending(now)) catchUp.fallBehind(lane)
      else if (isResumed && (isMoved || !hasRecovered)) resume(lane).catch(report)
      if (before.replays !== now.replays) replay(lane).catch(report)
    },
  }
}
