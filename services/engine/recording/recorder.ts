import type { NewEvent } from '../../../contracts/event.ts'
import { RegimeShifted, VerdictRecorded } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Regime } from '../../../contracts/regime.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { verdictStream } from '../../../contracts/streams.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import type { EventStore } from '../../platform/event-store/event-store.ts'
import type { FactId } from '../../platform/ids/fact-id.ts'
import type { VerdictDraft } from '../engine.ts'
import { type Appended, createAppendOnce, type StreamEnd } from './append-once.ts'
import { createPatience, type PatienceOptions } from './patience.ts'

export interface RecorderOptions extends PatienceOptions {
  readonly store: EventStore
  readonly idOf: FactId
}

/** What became of the verdicts that were to be recorded. */
export interface Recorded {
  /** The verdicts that this call added. */
  readonly added: readonly Verdict[]
  /** The appends that are in the log now, by this call or, with the same content, by another process. */
  readonly appends: readonly Appended<Verdict>[]
  /** The series' stream afterwards; its newest verdict is of the last bar given, or of a later one. */
  readonly end: StreamEnd<Verdict>
}

export interface Recorder {
  /**
   * Appends the verdicts of one series, oldest first, each once: those at or before the newest recorded bar
   * are known already and add nothing, whoever recorded them. Resolves when all are durable; waits out a
   * store that is away. Calls for one series are made one after the other.
   */
  record(series: Series, drafts: readonly VerdictDraft[]): Promise<Recorded>
  /** Forgets a series that is followed no longer. */
  release(series: Series): void
  /** What keeps verdicts from being recorded at the moment. */
  trouble(): string | undefined
}

/** A verdict may bring a regime shift, so half the events of an append, and small enough in bytes. */
const VERDICTS_PER_APPEND = Math.min(100, LIMITS.appendEvents / 2)
const NOTHING: StreamEnd<Verdict> = { revision: 'no-stream', newest: undefined }

export function createRecorder(options: RecorderOptions): Recorder {
  const { store, idOf } = options
  const patience = createPatience(options)
  const log = createAppendOnce<VerdictDraft, Verdict>({
    store,
    patience,
    streamOf: verdictStream,
    factOf: (series, draft) => ({
      ...draft,
      verdictId: idOf.at(draft.barClose, 'verdict', seriesName(series), String(draft.barClose)),
    }),
    eventsOf: (verdicts, before) => eventsOf(verdicts, before?.regime, idOf),
    readFact: (event) => (event.type === 'VerdictRecorded' ? event.data : undefined),
    factsPerAppend: VERDICTS_PER_APPEND,
  })
  return {
    async record(series, drafts) {
      const appends = await log.append(series, drafts)
      const added = appends.flatMap(({ facts, isOurs }) => (isOurs ? facts : []))
      return { added, appends, end: log.end(series) ?? NOTHING }
    },
    release: (series) => log.release(series),
    trouble: () => patience.trouble(),
  }
}

function eventsOf(verdicts: readonly Verdict[], before: Regime | undefined, idOf: FactId): NewEvent[] {
  let prior = before
  return verdicts.flatMap((verdict) => {
    const events = verdictEvents(verdict, prior, idOf)
    prior = verdict.regime
    return events
  })
}

function verdictEvents(verdict: Verdict, prior: Regime | undefined, idOf: FactId): NewEvent[] {
  const { verdictId: id, exchange, coin, timeframe, barClose, regime, confidence } = verdict
  const name = seriesName(verdict)
  const meta = { correlationId: barCorrelation(verdict), actor: 'engine' }
  const recorded = newEvent(VerdictRecorded, { id, data: verdict, meta })
  if (prior === undefined || prior === regime) return [recorded]
  const shifted = newEvent(RegimeShifted, {
    id: idOf.at(barClose, 'regime-shift', name, String(barClose)),
    data: { exchange, coin, timeframe, verdictId: id, barClose, regime, priorRegime: prior, confidence },
    meta: { ...meta, causationId: id },
  })
  return [recorded, shifted]
}

/** What everything shares that one bar of a series caused. */
export const barCorrelation = (fact: Series & { readonly barClose: number }): string =>
  `bar ${seriesName(fact)} ${fact.barClose}`
