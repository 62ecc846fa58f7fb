import { type ReplaySource, replaysOnThisThread } from '../../analyst/index.ts'
import type { EventStore } from '../../log/event-store.ts'
import { createFairScheduler } from '../../runtime/async/fair-scheduler.ts'

/** Replays of a store on this thread, where nobody else waits for it. */
export const replaysOf = (store: EventStore): ReplaySource =>
  replaysOnThisThread(
    store,
    createFairScheduler({ turnMs: Number.POSITIVE_INFINITY, rest: async () => undefined, now: () => 0 }),
  )
