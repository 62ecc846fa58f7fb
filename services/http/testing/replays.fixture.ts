import { type ReplaySource, replaysOnThisThread } from '../../analyst/index.ts'
import type { EventStore } from '../../log/event-store.ts'
import { PROCESS_TIME } from '../../runtime/admission/line.ts'
import { createTurns } from '../../runtime/admission/turns.ts'

/** Replays of a store on this thread, where nobody else waits for it. */
export const replaysOf = (store: EventStore): ReplaySource =>
  replaysOnThisThread(store, createTurns({ turnMs: Number.POSITIVE_INFINITY, time: PROCESS_TIME }))
