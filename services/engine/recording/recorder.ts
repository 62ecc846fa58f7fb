import { type Exchange, type Series, seriesName } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { isLate, type Verdict } from '../../../contracts/domain/verdict.ts'
import { VerdictRecorded } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { verdictStream } from '../../../contracts/events/streams.ts'
import type { NewEvent } from '../../../contracts/infra/event.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import type { VerdictDraft } from '../engine.ts'
import {
  type Appended,
  createAppendOnce,
  createRetrier,
  type RetrierOptions,
  type StreamEnd,
} from './append-once.ts'

/** How often a process that may not record looks for the verdicts of the one that does. */
const POLL_MS = 500

export interface RecorderOptions extends RetrierOptions {
  readonly store: EventStore
  readonly idOf: FactId
  /**
   * Market time, Unix milliseconds. Without it nothing is late, as in a market that is replayed as fast as it goes.
   */
  readonly clock?: (() => number) | undefined
  /**
   * Whether market time ran faster than real time at a bar: then no verdict on it is late, since an append alone may
   * last for a bar.
   */
  readonly isHurried?: (barClose: number) => boolean
  /** Whether a series is to have verdicts all the time; without it none is followed but because somebody asks. */
  readonly isMonitored?: ((series: Series) => boolean) | undefined
  /** Whether this process is the one that records an exchange; without it no other shares the log. */
  readonly holds?: ((exchange: Exchange) => boolean) | undefined
}

/** Result of recording verdicts. */
export interface Recorded {
  /** The verdicts that this call added. */
  readonly added: readonly Verdict[]
  /** The appends that are in the log now, by this call or, with the same content, by another process. */
  readonly appends: readonly Appended<Verdict>[]
  /** The series' stream afterwards; its newest verdict is of the last bar given, or of a later one. */
  readonly end: StreamEnd<Verdict>
}

export type Recorder = ReturnType<typeof createRecorder>

/** Small enough in bytes. */
const VERDICTS_PER_APPEND = Math.min(100, LIMITS.appendEvents)
const NOTHING: StreamEnd<Verdict> = { revision: 'no-stream', newest: undefined }

export function createRecorder(options: RecorderOptions) {
  const { store, isMonitored = () => false } = options
  const retrier = createRetrier(options)

  const log = createAppendOnce<VerdictDraft, Verdict>({
    store,
    retrier,
    streamOf: verdictStream,
    factOf: (series, draft, before) => verdictOf(draft, before, ['verdict', seriesName(series)], options),
    eventsOf: (verdicts) => verdicts.map(verdictRecorded),
    readFact: (event) => (event.type === 'VerdictRecorded' ? event.data : undefined),
    factsPerAppend: VERDICTS_PER_APPEND,
  })

  const { sleep, signal, holds = () => true } = options

  /** Series that their holder does not record, as far as is known. */
  const orphans = new Set<string>()

  /**
   * The engine that holds an exchange records it, and others over the same log adopt: their pasts may differ. A series that
   * the holder does not record, or that only a caller has begun to ask for, is recorded by the engine that follows it.
   *
   * @param first the oldest bar to record, and `last` the newest
   * @returns whether this process records; false once another has, or the signal is aborted
   */
  async function isOurTurn(series: Series, first: number, last: number): Promise<boolean> {
    const name = seriesName(series)
    const patienceMs = orphans.has(name) ? LIMITS.recordStandInMs : LIMITS.recordTakeOverMs
    for (let waited = 0; !holds(series.exchange); waited += POLL_MS) {
      const { newest } = await log.look(series)
      const isRecorded = newest !== undefined && newest.barClose >= last
      if (isRecorded) orphans.delete(name)
      if (isRecorded || signal.aborted) return false
      // Nobody follows a series of which an earlier bar is missing, unless everybody does.
      const isLeft = newest === undefined || newest.barClose < first - timeframeMs(series.timeframe)
      if (isLeft && !isMonitored(series)) return true
      if (waited >= patienceMs) {
        orphans.add(name)
        return true
      }
      await sleep(POLL_MS, signal)
    }
    return true
  }

  return {
    /**
     * Appends the verdicts of one series, oldest first, each once: those at or before the newest recorded bar are known
     * already and add nothing, no matter which process recorded them. If another process records the exchange, its
     * verdicts are waited for and adopted. Resolves when all are durable; waits out an unavailable store. Calls for one
     * series are made one after the other.
     */
    async record(series: Series, drafts: readonly VerdictDraft[]): Promise<Recorded> {
      const [first, last] = [drafts[0], drafts.at(-1)]
      const isTurn = first && last && (await isOurTurn(series, first.barClose, last.barClose))
      const appends = isTurn ? await log.append(series, drafts) : []
      return {
        added: appends.flatMap(({ facts, isOurs }) => (isOurs ? facts : [])),
        appends,
        end: log.end(series) ?? NOTHING,
      }
    },
    /** Forgets a series that is not followed any more. */
    release(series: Series): void {
      orphans.delete(seriesName(series))
      log.release(series)
    },
    /** The reason for which verdicts cannot be recorded now. */
    problem: (): string | undefined => retrier.problem(),
  }
}

/** A draft as it is recorded. @param about names the series, and the model where several record the same bar */
export const verdictOf = (
  draft: VerdictDraft,
  before: Verdict | undefined,
  about: readonly [kind: string, ...names: string[]],
  { idOf, clock, isHurried = () => false }: Pick<RecorderOptions, 'idOf' | 'clock' | 'isHurried'>,
): Verdict => ({
  ...draft,
  verdictId: idOf.at(draft.barClose, ...about, String(draft.barClose)),
  previous: before === undefined ? null : { barClose: before.barClose, regime: before.regime },
  recordedLate: clock !== undefined && !isHurried(draft.barClose) && isLate(draft, clock()),
})

const verdictRecorded = (verdict: Verdict): NewEvent =>
  newEvent(VerdictRecorded, {
    id: verdict.verdictId,
    data: verdict,
    meta: { correlationId: barCorrelation(verdict), actor: 'engine' },
  })

/** Correlation id of all events that one bar of a series caused. */
export const barCorrelation = (fact: Series & { readonly barClose: number }): string =>
  `bar ${seriesName(fact)} ${fact.barClose}`
