import { LIMITS } from '../../contracts/limits.ts'
import type { Turn, Turns } from '../runtime/admission/turns.ts'
import { FORMATS, type VerdictFormat } from './formats/verdict-formats.ts'
import type { VerdictLog } from './matching-events.ts'
import { type ReplayOptions, type ReplaySearch, replayVerdicts } from './replay-verdicts.ts'
import { cursorAt } from './shown-rows.ts'

/** A replay as somebody asks for it over HTTP. */
export interface ReplayRequest {
  readonly options: Omit<ReplayOptions, 'turn' | 'search' | 'signal'>
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
}

/** Answers replays; all that one gives share a thread. */
export type ReplaySource = (request: ReplayRequest) => Replay

/** Replays on the thread that asks for them, one at a time and each for a moment. */
export function replaysOnThisThread(store: VerdictLog, turns: Turns): ReplaySource {
  return ({ options, format, owner, signal }) => {
    let notes: ReplayNotes = {}
    const turn = turns.join(owner)
    const search: ReplaySearch = {
      events: LIMITS.replaySearchEvents,
      onEnd: (position) => {
        notes = { goOnAfter: cursorAt(position) }
      },
    }
    const rows = replayVerdicts(store, { ...options, signal, turn, search })
    return { chunks: inTurns(FORMATS[format].encode(rows), turn), notes: () => notes }
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
