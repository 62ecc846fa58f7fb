import { setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { LogReader } from '../log/embedded/log-reader.ts'
import { openWrittenPages } from '../log/embedded/written-pages.ts'
import { ROW_LAYOUT } from './formats/verdict-columns.ts'

/**
 * Linux gives each thread a priority of its own, and one of replays yields to those that answer calls and write.
 * Elsewhere it would be that of the whole process.
 */
const LOWER_PRIORITY = 10

/** The log and the pages that are kept of it, over connections of this thread, which makes way for others. */
export function openReplayLog(file: string) {
  if (process.platform === 'linux') setPriority(LOWER_PRIORITY)
  const log = new LogReader(file)
  const pages = openWrittenPages(join(dirname(file), 'replays.db'), file, ROW_LAYOUT)
  return {
    log,
    pagesOf: pages.pagesOf,
    close: (): void => {
      log.close()
      pages.close()
    },
  }
}
