import { CALLING_TIMEFRAMES, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { SPEECH_PREFIX, type SpeechRow, speech, speechKey, withdrawalAt } from '../../../projections/index.ts'
import { loadModel, modelFile, withdrawalReason } from '../../engine/index.ts'
import type { Projector } from '../../log/projector/projector.ts'
import type { Platform } from '../adapters/open-platform.ts'
import { startProjector } from '../adapters/start-projector.ts'
import type { Start } from '../shutdown.ts'
import { allRows } from './newest-verdicts.ts'

export type OpenedSpeech = ReturnType<typeof openSpeech>

/** A change applies a day after it is known, so each verdict need not read the row. */
const REREAD_MS = 1_000

/**
 * The model, and the timeframes at which its calls are withdrawn, as the read model of outcomes says. A process without
 * read models keeps this one.
 */
export function openSpeech(start: Start, platform: Platform, shared: Projector | undefined) {
  const { settings, shutdown } = start
  const model = loadModel()
  const projector = shared ?? startProjector(start, platform, [speech])
  if (shared === undefined) shutdown.onClose(() => projector.close())
  const reader = projector.reader(speech)
  // A market that is replayed at full speed is over before a change could apply.
  const isObeyed = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const known = new Map<Timeframe, SpeechRow | undefined>()
  let readAt = Number.NEGATIVE_INFINITY

  function rowOf(timeframe: Timeframe): SpeechRow | undefined {
    if (performance.now() - readAt >= REREAD_MS && reader.health().isWhole) {
      readAt = performance.now()
      for (const one of CALLING_TIMEFRAMES)
        known.set(one, reader.get(speechKey(model.version, one)) as SpeechRow | undefined)
    }
    return known.get(timeframe)
  }

  const withdrawal = (timeframe: Timeframe, barClose: number) =>
    isObeyed ? withdrawalAt(rowOf(timeframe), barClose) : undefined

  return {
    model,
    file: modelFile(),
    /** Resolves when the outcomes in the log are folded: before it, no verdict is computed. */
    caughtUp: (signal: AbortSignal): Promise<void> => projector.caughtUp(signal),
    /** The scores of the model at its timeframes. */
    rows: (): SpeechRow[] =>
      [...(allRows(reader, SPEECH_PREFIX) as Iterable<SpeechRow>)].map((row) =>
        isObeyed ? row : { ...row, changes: [] },
      ),
    /** Why calls at a timeframe are withdrawn at an instant of market time; undefined if they are not. */
    withdrawn(timeframe: Timeframe, at: number) {
      const change = withdrawal(timeframe, at)
      return change && withdrawalReason(change)
    },
    /** The timeframes at which calls are withdrawn, in a sentence; empty if there are none. */
    note(at: number) {
      const withdrawn = CALLING_TIMEFRAMES.filter((timeframe) => withdrawal(timeframe, at) !== undefined)
      return withdrawn.length === 0
        ? ''
        : `Calls at ${withdrawn.join(', ')} are withdrawn at the moment, so the answer there is HOLD.`
    },
  }
}
