import type { openWrittenPages } from '../log/embedded/written-pages.ts'
import { FORMATS, VERDICT_FORMATS, type VerdictFormat } from './formats/verdict-formats.ts'
import type { VerdictLog } from './matching-verdicts.ts'
import { AT_START } from './replay-cursor.ts'
import { replayTexts } from './replay-verdicts.ts'

/** A page that is kept needs no bytes where nobody reads them. */
const KEPT = { rows: 0, closedAt: 0, bytes: new Uint8Array() }

/** Nothing else is written in this process. */
const ALONE = { begin: async () => undefined, release: () => undefined }

/**
 * Writes the pages of a log that are final and not kept yet: as NDJSON, and in the formats that somebody has asked for.
 * It ends where the disk or the limit leaves no room for more.
 *
 * @param openRows that may change yet, one after another: few of those behind them are final
 */
export async function keepPages(
  log: VerdictLog,
  pagesOf: ReturnType<typeof openWrittenPages>['pagesOf'],
  openRows = 10_000,
): Promise<void> {
  for (const format of VERDICT_FORMATS) {
    // A replay of all keeps its first page.
    const isAsked = format === 'ndjson' || pagesOf(format).has(0)
    if (isAsked && !(await keepFormat(format))) return
  }

  /** @returns whether there is room for more */
  async function keepFormat(format: VerdictFormat): Promise<boolean> {
    const kept = pagesOf(format)
    let hasRoom = true
    const pages = {
      ...kept,
      ...FORMATS[format],
      writing: ALONE,
      get: (page: number) => (kept.has(page) ? KEPT : undefined),
      put(...written: Parameters<typeof kept.put>) {
        hasRoom = kept.put(...written)
        return hasRoom
      },
    }
    // Nobody is shown these rows: a page says itself from when on it may be.
    const [limit, now] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    const { signal } = new AbortController()
    let open = 0
    for await (const row of replayTexts(log, { filter: {}, after: AT_START, limit, now, signal, pages })) {
      open = row instanceof Uint8Array ? 0 : open + 1
      if (!hasRoom || open > openRows) break
    }
    return hasRoom
  }
}
