import { assert } from '../../contracts/assert.ts'
import type { Position } from '../../contracts/position.ts'
import type { VerdictRow } from '../../contracts/verdict-row.ts'
import type { WrittenPages } from '../log/embedded/written-pages.ts'
import type { LookedAt } from '../log/event-store.ts'
import { toPosition, toSequence } from '../log/sequence-position.ts'
import type { Turn } from '../runtime/admission/turns.ts'
import { createDecidedTimes, type DecidedTimes } from './decided-times.ts'
import { type RowTexts, rowOf } from './formats/row-texts.ts'
import { type FormatDefinition, PAGE_EVENTS } from './formats/verdict-formats.ts'
import { matchingVerdicts, type VerdictLog } from './matching-verdicts.ts'
import { createLook, formatCursor, type ReplayCursor } from './replay-cursor.ts'
import { isCallAsked, type ReplayFilter } from './replay-filter.ts'

export interface ReplayOptions {
  readonly filter: ReplayFilter
  readonly after: ReplayCursor
  /** The log as it was: a position, or the instant up to which events had been appended. */
  readonly upTo?: Position | Date
  readonly limit: number
  /** Market time, Unix milliseconds: verdicts whose window closes later are withheld. Infinity shows all. */
  readonly now: number
  readonly signal: AbortSignal
  /** Shares the thread with others; it has it to itself without one. */
  readonly turn?: Turn
  /** How long to look for a first verdict; to the end of the log without it. */
  readonly search?: ReplaySearch
  /** Pages that were written out before, and how one is; each row is read without them. */
  readonly pages?: Pages | undefined
}

interface Pages extends WrittenPages, Pick<FormatDefinition, 'write' | 'pageEvents'> {
  /** One page is written at a time: it has thousands of rows, and others may be after the same. */
  readonly writing: Pick<Turn, 'begin' | 'release'>
}

export interface ReplaySearch {
  /** Most events that are read, approximately. */
  readonly events: number
  /** Told where to go on; the replay ends then. */
  readonly onEnd: (cursor: ReplayCursor) => void
  /**
   * Told at the end of the log, where no verdict was shown and some are withheld: when the first of their windows closes,
   * market time. Its call is not looked at.
   */
  readonly onNothing: (nextVisibleAt: number) => void
}

/**
 * Recorded verdicts in the order of the log. Verdicts whose window is still open are what callers pay for, so they are
 * withheld until it closes; a cursor after any row resumes without loss or repeat.
 */
export async function* replayVerdicts(
  store: VerdictLog,
  options: ReplayOptions,
): AsyncGenerator<VerdictRow, void, void> {
  for await (const row of replayTexts(store, { ...options, pages: undefined })) {
    assert(!(row instanceof Uint8Array), 'rows are given one by one where no pages are kept')
    yield rowOf(row)
  }
}

/** As {@link replayVerdicts}, for rows that are written out: those of a page that is kept in its bytes. */
export async function* replayTexts(
  store: VerdictLog,
  options: ReplayOptions,
): AsyncGenerator<RowTexts | Uint8Array, void, void> {
  const { filter, limit, turn, search, now, pages } = options
  const upTo = options.upTo ?? (await store.head())
  const found = new AbortController()
  const signal = AbortSignal.any([options.signal, found.signal])
  const decided = createDecidedTimes(store, { upTo, signal })
  const progress = { left: limit, closedAt: 0 }
  let searched = 0
  let nextVisibleAt = Number.POSITIVE_INFINITY
  for (let from: ReplayCursor | undefined = options.after; from !== undefined; ) {
    const look = createLook(from, now)
    const onLooked = async ({ upTo: passed, events: count }: LookedAt): Promise<void> => {
      searched += count
      if (search !== undefined && progress.left === limit && searched >= search.events) {
        search.onEnd(look.passed(passed))
        found.abort()
      }
      if (turn?.isOver() === true) await turn.again()
    }
    async function* rowsOf(after: Position, end: Position | Date): AsyncGenerator<RowTexts, void, void> {
      const events = matchingVerdicts(store, { filter, after, upTo: end, signal, onLooked })
      for await (const event of events) {
        if (turn?.isOver() === true) await turn.again()
        const { validUntil } = event.data
        progress.closedAt = Math.max(progress.closedAt, validUntil)
        if (validUntil > now) nextVisibleAt = Math.min(nextVisibleAt, validUntil)
        const cursor = look.offer(event.position, validUntil)
        if (look.isHeldUp()) return
        if (cursor === undefined || !isCallAsked(filter, event.data)) continue
        const decidedAt = decided.of(event.data)
        yield event.texts(formatCursor(cursor), decidedAt instanceof Promise ? await decidedAt : decidedAt)
        progress.left -= 1
        if (progress.left === 0) return
      }
    }
    const isOver = (): boolean => progress.left === 0 || look.isHeldUp() || signal.aborted
    let after = look.readAfter
    // Other replays show a part of a page, or one as it was.
    const isPlain = options.upTo === undefined && Object.keys(filter).length === 0
    if (pages !== undefined && isPlain && from.second === undefined && from.complete === from.looked)
      after = yield* inPages(pages, { after, upTo, look, progress, decided, now, turn, isOver, rowsOf })
    if (!isOver()) yield* rowsOf(after, upTo)
    if (isOver()) return
    from = from.second === undefined ? undefined : look.end()
  }
  if (progress.left === limit && Number.isFinite(nextVisibleAt)) search?.onNothing(nextVisibleAt)
}

interface InPages extends Pick<ReplayOptions, 'now'> {
  readonly turn: ReplayOptions['turn'] | undefined
  readonly after: Position
  readonly upTo: Position | Date
  readonly look: ReturnType<typeof createLook>
  /** Rows that may be given, and the latest end of a window among those that were read. */
  readonly progress: { left: number; closedAt: number }
  readonly decided: DecidedTimes
  readonly isOver: () => boolean
  readonly rowsOf: (after: Position, upTo: Position) => AsyncGenerator<RowTexts, void, void>
}

/** Gives pages from a position on, and keeps those that are final. @returns where it ended: the rest is no page, or is withheld in part */
async function* inPages(
  pages: Pages,
  { after, upTo, look, progress, decided, now, turn, isOver, rowsOf }: InPages,
): AsyncGenerator<RowTexts | Uint8Array, Position, void> {
  const { pageEvents: length = PAGE_EVENTS } = pages
  const end = typeof upTo === 'string' ? toSequence(upTo) : 0
  let isShown = true

  /** Undefined where none is kept that can be given whole. */
  function kept(page: number): Uint8Array | RowTexts[] | undefined {
    const found = pages.get(page)
    if (found === undefined || found.rows > progress.left || found.closedAt > now) return undefined
    look.passed(toPosition((page + 1) * length))
    progress.left -= found.rows
    decided.forget()
    return found.rows > 0 ? found.bytes : []
  }

  /** The rest of a page, in its bytes where it is whole and final. */
  async function write(at: number, page: number): Promise<Uint8Array | RowTexts[]> {
    const next = toPosition((page + 1) * length)
    const [rows, before]: [RowTexts[], number] = [[], decided.without()]
    progress.closedAt = 0
    for await (const row of rowsOf(toPosition(at), next)) rows.push(row)
    isShown = look.passed(next).complete === next
    // An outcome that is not there yet may come.
    const isFinal = at === page * length && isShown && decided.without() === before && !isOver()
    if (!isFinal) return rows
    const bytes = await pages.write(rows)
    pages.put(page, { rows: rows.length, closedAt: progress.closedAt, bytes })
    return rows.length > 0 ? bytes : rows
  }

  for (let at = toSequence(after); ; ) {
    const page = Math.floor(at / length)
    if ((page + 1) * length > end || !isShown || isOver()) return toPosition(at)
    const isWhole = at === page * length
    let found = isWhole ? kept(page) : undefined
    if (found === undefined) {
      turn?.release()
      await pages.writing.begin()
      try {
        await turn?.begin()
        found = (isWhole ? kept(page) : undefined) ?? (await write(at, page))
      } finally {
        pages.writing.release()
      }
    }
    if (found instanceof Uint8Array) yield found
    else yield* found
    at = (page + 1) * length
    if (turn?.isOver() === true) await turn.again()
  }
}
