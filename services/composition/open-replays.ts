import { openReplayWorker, type ReplaySource, replaysInTurns } from '../analyst/index.ts'
import type { Settings } from '../platform/config/settings.ts'
import { logFile } from '../platform/event-store/embedded/embedded-store.ts'
import type { OnClose, Platform } from './open-platform.ts'

/**
 * Replays of the log: on a thread of their own where the log is a file of this machine, else in turns with what else
 * this thread does, since the connection to the server is its own.
 */
export function openReplays(
  { EVENTSTORE_URL }: Pick<Settings, 'EVENTSTORE_URL'>,
  { store, turns, directory }: Platform,
  onClose: OnClose,
): ReplaySource {
  if (EVENTSTORE_URL !== undefined) return replaysInTurns(store, turns)
  const worker = openReplayWorker({ file: logFile(directory) })
  onClose(() => worker.close())
  return worker.replay
}
