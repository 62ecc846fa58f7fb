import { type ReplaySource, replaysInTurns } from '../../analyst/index.ts'
import { createFairTurns } from '../../platform/async/fair-turns.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'

/** Replays of a store on this thread, where nobody else waits for it. */
export const replaysOf = (store: EventStore): ReplaySource =>
  replaysInTurns(
    store,
    createFairTurns({ turnMs: Number.POSITIVE_INFINITY, rest: async () => undefined, now: () => 0 }),
  )
