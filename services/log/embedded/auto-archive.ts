import { isServiceError, reasonOf } from '../../../contracts/errors.ts'
import type { ArchiveOptions, ArchiveResult } from './archive-log.ts'
import { startThread } from './beside-thread.ts'

/** The newest run that moved old events into the archive by itself. */
export interface AutoArchiveReport {
  /** Unix milliseconds; null before the first run of this process has ended. */
  readonly endedAt: number | null
  readonly events: number
  readonly files: number
  /** How far a run that is under way has come, of how many positions. */
  readonly progress?: { readonly position: number; readonly upTo: number }
  /** Why the newest run broke off; it is tried again. */
  readonly problem?: string
}

export interface AutoArchiveOptions {
  readonly olderThanMs: number
  readonly archive: (options: Pick<ArchiveOptions, 'before' | 'onProgress'>) => Promise<ArchiveResult>
  readonly now: () => number
  readonly sleep: (milliseconds: number) => Promise<void>
  readonly signal: AbortSignal
  readonly report: (report: AutoArchiveReport) => void
}

const RETRY_MS = 600_000
/** A day; the module of timeframes has it, too, with schemas that this thread does without. */
const AGAIN_MS = 86_400_000

/** Archives at once and each day. Where a command archives already, it waits until that one has ended. */
export async function keepArchived(options: AutoArchiveOptions): Promise<void> {
  const { olderThanMs, archive, now, sleep, signal, report } = options
  let newest: AutoArchiveReport = { endedAt: null, events: 0, files: 0 }
  while (!signal.aborted) {
    let wait = AGAIN_MS
    try {
      const before = new Date(now() - olderThanMs)
      const { events, files } = await archive({
        before,
        onProgress: (progress) => report({ ...newest, progress }),
      })
      newest = { endedAt: now(), events, files }
      report(newest)
    } catch (error) {
      wait = RETRY_MS
      if (!isServiceError(error, 'store_locked')) report({ ...newest, problem: reasonOf(error) })
    }
    if (!signal.aborted) await sleep(wait)
  }
}

/** Archives in a thread of its own, so that packing keeps no caller waiting. */
export function startAutoArchive(
  files: { readonly file: string; readonly olderThanMs: number },
  told: (report: AutoArchiveReport) => void,
) {
  let newest: AutoArchiveReport | undefined
  const heard = (report: AutoArchiveReport): void => {
    // The thread does not know what the one before it did.
    newest = report.progress === undefined ? report : { ...report, ...newest, progress: report.progress }
    if (report.progress === undefined) told(report)
  }
  const script = new URL('./archive-thread.ts', import.meta.url)
  const failed = (problem: string) => heard({ endedAt: null, events: 0, files: 0, ...newest, problem })
  const report = (message: unknown): void => heard(message as AutoArchiveReport)
  const close = startThread(script, files, { report, failed })
  return { report: () => newest, close }
}
