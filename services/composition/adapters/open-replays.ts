import { LIMITS } from '../../../contracts/limits.ts'
import { openReplayWorker, type ReplaySource, replaysOnThisThread } from '../../analyst/index.ts'
import { logFile } from '../../log/embedded/embedded-store.ts'
import { PROCESS_TIME } from '../../runtime/admission/line.ts'
import { createTurns } from '../../runtime/admission/turns.ts'
import type { Deps } from '../deps.ts'

/**
 * Replays of the log: on a thread of their own where the log is a file of this machine, else in turns with what else
 * this thread does, since the connection to the server is its own.
 */
export function openReplays({ settings, platform: { store, directory }, onClose }: Deps): ReplaySource {
  if (settings.EVENTSTORE_URL !== undefined) return replaysOnThisThread(store, sharedTurns())
  const worker = openReplayWorker({ file: logFile(directory) })
  onClose(() => worker.close())
  return worker.replay
}

/** Between two turns calls have the thread for as long as the turn took, so that they have half of it at least. */
const sharedTurns = () => createTurns({ turnMs: LIMITS.sharedTurnMs, restMs: Math.ceil, time: PROCESS_TIME })
