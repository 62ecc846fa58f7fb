import type { openWrittenPages } from '../log/embedded/written-pages.ts'
import { toPosition, toSequence } from '../log/sequence-position.ts'
import { FORMATS, PAGE_EVENTS, VERDICT_FORMATS, type VerdictFormat } from './formats/verdict-formats.ts'
import type { VerdictLog } from './matching-verdicts.ts'
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
      put: (...written: Parameters<typeof kept.put>) => (hasRoom = kept.put(...written)),
    }
    // Nobody is shown these rows: a page says itself from when on it may be.
    const all = { filter: {}, limit: Infinity, now: Infinity, signal: new AbortController().signal }
    const { pageEvents = PAGE_EVENTS } = FORMATS[format]
    const middle = Math.floor(toSequence(await log.head()) / 2 / pageEvents) * pageEvents
    // A replay of all that somebody makes meanwhile writes the first half.
    for (const begin of [middle, 0]) {
      const after = { complete: toPosition(begin), looked: toPosition(begin), asOf: 0 }
      let open = 0
      for await (const row of replayTexts(log, { ...all, after, pages })) {
        open = row instanceof Uint8Array ? 0 : open + 1
        if (!hasRoom) return false
        if (open > openRows) break
      }
    }
    return true
  }
}
