import { startThread } from './beside-thread.ts'
import type { ScrubOptions, ScrubReport } from './scrub-log.ts'

export interface Scrub {
  /** Undefined until it has begun. */
  report(): ScrubReport | undefined
  close(): Promise<void>
}

/** Scrubs a log in a thread of its own, which begins once the start of the process is over. */
export function startScrub(
  files: Pick<ScrubOptions, 'file' | 'readModels'>,
  told: {
    readonly damaged: (report: ScrubReport) => void
    readonly readModelsDamaged: (what: string) => void
  },
): Scrub {
  let newest: ScrubReport | undefined
  const close = startThread(new URL('./scrub-thread.ts', import.meta.url), files, {
    report(message) {
      const report = message as ScrubReport
      if (report.damaged > (newest?.damaged ?? 0)) told.damaged(report)
      if (report.readModels !== undefined) told.readModelsDamaged(report.readModels)
      newest = report
    },
    failed(problem) {
      newest = { position: 0, head: 0, endedAt: null, damaged: 0, damage: [], ...newest, problem }
    },
  })
  return { report: () => newest, close }
}
