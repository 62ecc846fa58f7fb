import type { NewEvent } from '../../../contracts/event.ts'
import { VerdictRecorded } from '../../../contracts/event-catalogue.ts'
import { newEvent } from '../../../contracts/event-definition.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { verdictStream } from '../../../contracts/streams.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import { isLate, type Verdict } from '../../../contracts/verdict.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { Clock } from '../../runtime/async/clock.ts'
import type { FactId } from '../../runtime/ids/fact-id.ts'
import type { VerdictDraft } from '../engine.ts'
import {
  type Appended,
  type BarFact,
  createAppendOnce,
  createRetrier,
  type RetrierOptions,
  type StreamEnd,
} from './append-once.ts'

interface RecordingTurnsOptions extends Pick<Clock, 'sleep'> {
  /** Whether this process is the one that records an exchange, of those that share the log. */
  readonly holds: (exchange: Exchange) => boolean
  /** Reads the end of the stream of a series. */
  readonly look: (series: Series) => Promise<StreamEnd<BarFact>>
  /** Whether every process follows a series all the time. */
  readonly isMonitored: (series: Series) => boolean
  readonly signal: AbortSignal
}

/** How often it is looked whether the other has recorded; the last from then on. */
const LOOK_AFTER_MS = [250, 500, 1_000, 2_000] as const

/**
 * Two engines that began at different times may differ in what they see of a series, so that one of them at a time
 * records an exchange, and the others adopt. None waits for long for one that is gone, or does not follow the series:
 * a verdict that two processes record has one place, whichever comes first.
 */
function createRecordingTurns(options: RecordingTurnsOptions) {
  const { holds, look, isMonitored, sleep, signal } = options
  /** The newest bar that this process recorded, of each series. */
  const own = new Map<string, number>()

  /** How long to wait for the other process, after the end of the log. */
  function waitMs(series: Series, first: number, { newest }: StreamEnd<BarFact>): number {
    if (newest === undefined) return 0
    // Nobody follows a series of which an earlier bar is missing already, unless everybody does: then the other has
    // those bars, and was kept from recording them.
    const isLeft = newest.barClose < first - timeframeMs(series.timeframe)
    if (isLeft && !isMonitored(series)) return 0
    const standsIn = own.get(seriesName(series)) === newest.barClose
    return standsIn ? LIMITS.recordStandInMs : LIMITS.recordTakeOverMs
  }

  return {
    /**
     * Waits until the bars of a series are recorded, or this process has to record the missing ones.
     *
     * @param bars oldest first
     * @returns whether this process may record: not once the signal is aborted, when another goes on
     */
    async await(series: Series, bars: readonly BarFact[]): Promise<boolean> {
      const [first, last] = [bars[0]?.barClose, bars.at(-1)?.barClose]
      if (first === undefined || last === undefined || holds(series.exchange)) return true
      let waited = 0
      for (let looks = 0; !signal.aborted; looks++) {
        const end = await look(series)
        if (end.newest !== undefined && end.newest.barClose >= last) return true
        const left = waitMs(series, first, end) - waited
        if (left <= 0 || holds(series.exchange)) return true
        const pause = Math.min(left, LOOK_AFTER_MS[Math.min(looks, LOOK_AFTER_MS.length - 1)] ?? left)
        await sleep(pause, signal)
        waited += pause
      }
      return false
    },
    /** Notes that this process recorded a bar of a series. */
    recorded: (series: Series, barClose: number) => void own.set(seriesName(series), barClose),
    release: (series: Series) => void own.delete(seriesName(series)),
  }
}

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
  const turns = createRecordingTurns({
    holds,
    look: (series) => log.look(series),
    isMonitored,
    sleep,
    signal,
  })

  return {
    /**
     * Appends the verdicts of one series, oldest first, each once: those at or before the newest recorded bar are known
     * already and add nothing, no matter which process recorded them. When another process records the exchange, its
     * verdicts are waited for and adopted. Resolves when all are durable; waits out a store that is away. Calls for one
     * series are made one after the other.
     */
    async record(series: Series, drafts: readonly VerdictDraft[]): Promise<Recorded> {
      const mayRecord = await turns.await(series, drafts)
      const appends = mayRecord ? await log.append(series, drafts) : []
      const added = appends.flatMap(({ facts, isOurs }) => (isOurs ? facts : []))
      const newest = added.at(-1)
      if (newest !== undefined) turns.recorded(series, newest.barClose)
      return { added, appends, end: log.end(series) ?? NOTHING }
    },
    /** Forgets a series that is followed no longer. */
    release(series: Series): void {
      turns.release(series)
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
