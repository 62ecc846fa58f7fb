import { type ReplaySource, replaysOnThisThread } from '../../analyst/index.ts'
import { createFairScheduler } from '../../platform/async/fair-scheduler.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'

/** Replays of a store on this thread, where nobody else waits for it. */
export const replaysOf = (store: EventStore): ReplaySource =>
  replaysOnThisThread(
    store,
    createFairScheduler({ turnMs: Number.POSITIVE_INFINITY, rest: async () => undefined, now: () => 0 }),
  )
