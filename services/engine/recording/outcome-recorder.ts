import type { Candle } from '../../../contracts/domain/candle.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { OutcomeLabelled } from '../../../contracts/events/event-catalogue.ts'
import { newEvent } from '../../../contracts/events/event-definition.ts'
import { outcomeStream } from '../../../contracts/events/streams.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { createAppendOnce, createRetrier } from './append-once.ts'
import { Labeller } from './label-verdicts.ts'
import { backfillFrom, openVerdictsOf } from './open-verdicts.ts'
import { barCorrelation, type Recorded, type RecorderOptions } from './recorder.ts'

export interface OutcomeRecorderOptions extends RecorderOptions {
  /** Told of outcomes that this process added, after they are durable. */
  readonly onLabelled?: (outcomes: readonly Outcome[]) => void
}

export type OutcomeRecorder = ReturnType<typeof createOutcomeRecorder>

/** Series asked for at a time; each costs a few reads. */
const SERIES_AT_ONCE = 32
/** Some 400 bytes each. */
const OUTCOMES_PER_APPEND = Math.min(200, LIMITS.appendEvents)

export function createOutcomeRecorder(options: OutcomeRecorderOptions) {
  const { store, idOf, onLabelled } = options
  const retrier = createRetrier(options)
  const labellers = new Map<string, Labeller>()
  const log = createAppendOnce<Outcome, Outcome>({
    store,
    retrier,
    streamOf: outcomeStream,
    factOf: (_series, outcome) => outcome,
    eventsOf: (outcomes) =>
      outcomes.map((data) =>
        newEvent(OutcomeLabelled, {
          id: idOf.at(data.barClose, 'outcome', seriesName(data), String(data.barClose)),
          data,
          meta: { correlationId: barCorrelation(data), causationId: data.verdictId, actor: 'engine' },
        }),
      ),
    readFact: (event) => (event.type === 'OutcomeLabelled' ? event.data : undefined),
    factsPerAppend: OUTCOMES_PER_APPEND,
  })

  function labellerOf(series: Series): Labeller {
    const name = seriesName(series)
    const known = labellers.get(name)
    if (known !== undefined) return known
    const labeller = new Labeller({ store, retrier, series, pageSize: OUTCOMES_PER_APPEND })
    labellers.set(name, labeller)
    return labeller
  }

  async function append(series: Series, outcomes: AsyncIterable<Outcome[]>): Promise<number> {
    let count = 0
    for await (const due of outcomes) {
      for (const { facts, isOurs } of await log.append(series, due)) {
        if (!isOurs) continue
        count += facts.length
        onLabelled?.(facts)
      }
    }
    return count
  }

  return {
    /**
     * Takes the next bars of a series, history as well as live ones, and what was recorded up to the last of
     * them; appends the outcome of every verdict whose window they close, oldest first, each once. Where
     * nothing was known of the series, the verdicts without an outcome are found from the log. Resolves when
     * all is durable; waits out a store that is away. Calls for one series are made one after the other.
     *
     * @returns how many outcomes this call added; another process may have been first with others.
     */
    label: (series: Series, bars: readonly Candle[], recorded?: Recorded): Promise<number> =>
      append(series, labellerOf(series).take(bars, recorded)),
    /**
     * Waits no longer for the bars of windows that closed by an instant: appends their outcomes. What bars decided
     * stands, the others are incomplete. Not at the same time as `label` of the series.
     *
     * @param until market time, Unix milliseconds
     * @returns how many outcomes this call added
     */
    conclude: (series: Series, until: number): Promise<number> =>
      append(series, labellerOf(series).conclude(until)),
    /**
     * How far back bars are needed so that the open verdicts of some series get their outcomes: to be given to
     * the feed as `historyFrom`. Where the feed does not have them any more, they are labelled incomplete.
     *
     * @param now market time, Unix milliseconds
     * @returns undefined where the bars that warm the series up are enough.
     */
    async historyFrom(series: readonly Series[], now: number): Promise<number | undefined> {
      let from: number | undefined
      for (let index = 0; index < series.length; index += SERIES_AT_ONCE) {
        const some = series.slice(index, index + SERIES_AT_ONCE)
        const open = await Promise.all(some.map((one) => retrier.waitOut(() => openVerdictsOf(store, one))))
        for (const one of open) from = earliest(from, backfillFrom(one, now))
      }
      return from
    },
    /** Forgets a series that is followed no longer; its open verdicts are found again from the log. */
    release(series: Series): void {
      labellers.delete(seriesName(series))
      log.release(series)
    },
    /** The reason for which outcomes cannot be appended now. */
    problem: (): string | undefined => retrier.problem(),
  }
}

const earliest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
