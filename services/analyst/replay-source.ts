import { LIMITS } from '../../contracts/limits.ts'
import type { Position } from '../../contracts/position.ts'
import type { WrittenPages } from '../log/embedded/written-pages.ts'
import { PROCESS_TIME } from '../runtime/admission/line.ts'
import { createTurns, type Turn, type Turns } from '../runtime/admission/turns.ts'
import { FORMATS, VERDICT_FORMATS, type VerdictFormat } from './formats/verdict-formats.ts'
import type { VerdictLog } from './matching-verdicts.ts'
import { formatCursor } from './replay-cursor.ts'
import { type PagesAhead, type ReplayOptions, type ReplaySearch, replayTexts } from './replay-verdicts.ts'

/** A replay as somebody asks for it over HTTP. */
export interface ReplayRequest {
  readonly options: Omit<ReplayOptions, 'turn' | 'search' | 'signal' | 'pages'>
  readonly format: VerdictFormat
  /** The owner of the replay; all replays of one owner share one owner's time. */
  readonly owner: string
  readonly signal: AbortSignal
}

/** A replay that is under way. */
export interface Replay {
  /** Its bytes, in the format asked for. Ending the iteration ends the replay. */
  readonly chunks: AsyncGenerator<string | Uint8Array, void, void>
  /** Known with the first chunk, or after the last. */
  readonly notes: () => ReplayNotes
}

/** The notice of a replay without rows. */
export interface ReplayNotes {
  /** The cursor to continue from, where it found nothing for so long that it ended before the log did. */
  readonly goOnAfter?: string
  /** When the next verdict becomes visible, market time in Unix milliseconds; absent where none is withheld. */
  readonly nextVisibleAt?: number
}

/** Answers replays; all that one gives share a thread. */
export type ReplaySource = (request: ReplayRequest) => Replay

/** Events between a page that a replay writes and those that are written ahead of it: some half a second. */
export const AHEAD_EVENTS = 64_000

/**
 * Replays on the thread that asks for them, one at a time and each for a moment.
 *
 * @param ahead replays on another thread, over the same kept pages, and writes pages so many events further on
 */
export function replaysOnThisThread(
  store: VerdictLog,
  turns: Turns,
  pagesOf?: (format: VerdictFormat) => WrittenPages,
  ahead?: ReplaySource,
  aheadEvents = AHEAD_EVENTS,
): ReplaySource {
  const aheadOf = ahead && pagesAhead(ahead, aheadEvents)
  const lineOf = (): Turns => createTurns({ turnMs: Number.POSITIVE_INFINITY, time: PROCESS_TIME })
  const lines = new Map(VERDICT_FORMATS.map((format) => [format, lineOf()]))
  return (request) => {
    const { options, format, owner, signal } = request
    let notes: ReplayNotes = {}
    const turn = turns.join(owner)
    const search: ReplaySearch = {
      events: LIMITS.replaySearchEvents,
      onEnd: (cursor) => {
        notes = { goOnAfter: formatCursor(cursor) }
      },
      onNothing: (nextVisibleAt) => {
        notes = { nextVisibleAt }
      },
    }
    const { encode, ...written } = FORMATS[format]
    const writing = (lines.get(format) ?? lineOf()).join(owner)
    const pages = pagesOf && { ...pagesOf(format), ...written, writing, ahead: aheadOf?.(request) }
    const rows = replayTexts(store, { ...options, signal, turn, search, pages })
    return { chunks: inTurns(encode(rows), turn), notes: () => notes }
  }
}

/** Another thread writes ahead for one replay at a time, and not much: it may end, or hardly be read. */
function pagesAhead(replay: ReplaySource, events: number): (request: ReplayRequest) => PagesAhead {
  let underWay: AbortController | undefined
  return ({ options: { now }, ...request }) => {
    let own: AbortController | undefined
    async function write(after: Position, { signal }: AbortController): Promise<void> {
      const from = { complete: after, looked: after, asOf: 0 }
      const options = { filter: {}, after: from, limit: events, now }
      for await (const _ of replay({ ...request, options, signal }).chunks);
    }
    function end(ended = own): void {
      ended?.abort()
      if (underWay === ended) underWay = undefined
    }
    return {
      events,
      begin(after) {
        if (underWay !== undefined && underWay !== own) return false
        end()
        const begun = new AbortController()
        underWay = own = begun
        // Nothing depends on these pages: the replay itself meets a fault of the log when it comes there.
        void write(after, begun)
          .catch(() => undefined)
          .then(() => end(begun))
        return true
      },
      end,
    }
  }
}

/** Makes each next item in its turn; between two of them the thread is others'. */
async function* inTurns<Item>(
  items: AsyncGenerator<Item, void, void>,
  turn: Turn,
): AsyncGenerator<Item, void, void> {
  try {
    for (;;) {
      await turn.begin()
      const { done, value } = await items.next().finally(() => turn.release())
      if (done === true) return
      yield value
    }
  } finally {
    turn.release()
    await items.return()
  }
}
