import { isServiceError, type ServiceError } from '../../../contracts/errors.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { ChallengerVerdictRecorded } from '../../../contracts/model-events.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { challengerStream } from '../../../contracts/streams.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import type { VerdictDraft } from '../engine.ts'
import { type AppendOnce, createAppendOnce, createRetrier } from './append-once.ts'
import { barCorrelation, type RecorderOptions, verdictOf } from './recorder.ts'

export interface ChallengerRecorderOptions extends RecorderOptions {
  /** Told when a challenger's verdicts of a series cannot be recorded: that stops nobody. */
  readonly onFailure: (series: Series, error: ServiceError) => void
}

/** Records what the models say that do not speak: in streams of their own, one verdict per model and bar. */
export interface ChallengerRecorder {
  /** @param drafts of one series, of any models, each model's oldest first */
  record(series: Series, drafts: readonly VerdictDraft[]): Promise<void>
  release(series: Series): void
}

const VERDICTS_PER_APPEND = 100

export function createChallengerRecorder(options: ChallengerRecorderOptions): ChallengerRecorder {
  const { store, holds } = options
  const retrier = createRetrier(options)
  const logs = new Map<string, AppendOnce<VerdictDraft, Verdict>>()

  function logOf(modelVersion: string): AppendOnce<VerdictDraft, Verdict> {
    const known = logs.get(modelVersion)
    if (known !== undefined) return known
    const log = createAppendOnce<VerdictDraft, Verdict>({
      store,
      retrier,
      streamOf: (series) => challengerStream(modelVersion, series),
      factOf: (series, draft, before) =>
        verdictOf(draft, before, ['challenger', modelVersion, seriesName(series)], options),
      eventsOf: (verdicts) =>
        verdicts.map((data) =>
          newEvent(ChallengerVerdictRecorded, {
            id: data.verdictId,
            data,
            meta: { correlationId: barCorrelation(data), actor: 'engine' },
          }),
        ),
      readFact: (event) => (event.type === 'ChallengerVerdictRecorded' ? event.data : undefined),
      factsPerAppend: VERDICTS_PER_APPEND,
    })
    logs.set(modelVersion, log)
    return log
  }

  return {
    async record(series, drafts) {
      // The process that records the exchange records challengers, too; a bar without a challenger's verdict is not
      // scored.
      if (holds?.(series.exchange) === false) return
      for (const [modelVersion, own] of Map.groupBy(drafts, (draft) => draft.modelVersion)) {
        try {
          await logOf(modelVersion).append(series, own)
        } catch (error) {
          if (!isServiceError(error)) throw error
          if (!options.signal.aborted) options.onFailure(series, error)
        }
      }
    },
    release(series) {
      for (const log of logs.values()) log.release(series)
    },
  }
}
