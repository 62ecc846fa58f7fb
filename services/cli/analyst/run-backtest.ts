import { type VerdictRow, verdictRow } from '../../../contracts/answers/verdict-row.ts'
import type { BarBatch } from '../../../contracts/domain/feed.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import { type Verdict, WINDOW_BARS } from '../../../contracts/domain/verdict.ts'
import {
  createRace,
  type OpenSeries,
  type Race,
  type RaceResult,
  SeriesEngine,
  type VerdictDraft,
  type VerdictModel,
} from '../../engine/index.ts'
import { createFactIds } from '../../runtime/ids/fact-id.ts'

export interface BacktestOptions {
  readonly model: VerdictModel
  readonly series: readonly Series[]
  /** Their bars, as `MarketFeed.batches` gives them. */
  readonly batches: AsyncIterable<BarBatch>
  /** When the run began, ISO 8601: nothing is recorded, so that is when its verdicts came about. */
  readonly at: string
  /** Called with the outcome of every verdict whose window is over. */
  readonly onOutcome: (outcome: Outcome) => void
}

/**
 * Ids of a backtest: made of a published text, so that the same inputs have the same id on every machine, and
 * never that of a recorded verdict.
 */
const idOf = createFactIds(Buffer.from('signal-service backtest'))

interface Runner {
  readonly verdict: Verdict
  readonly race: Race
}

interface Followed {
  readonly series: Series
  readonly opened: OpenSeries
  readonly running: Set<Runner>
  previous: Verdict['previous']
}

/**
 * Runs the engine over recorded bars without a store: the verdicts that a recorded run would append, each when it has
 * its outcome by the rule that defines confidence, as in a replay. Those whose window ends after the last bar come last,
 * without an outcome. Their cursors count them.
 */
export async function* runBacktest(options: BacktestOptions): AsyncGenerator<VerdictRow, void, void> {
  const { model, batches, at, onOutcome } = options
  const engine = new SeriesEngine({ model })
  const bySeries = new Map<string, Followed>(
    options.series.map((series) => [
      seriesName(series),
      { series, opened: engine.open(series), running: new Set(), previous: null },
    ]),
  )
  let count = 0
  let isLive = false

  const rowOf = (verdict: Verdict, outcome: RaceResult | null): VerdictRow =>
    verdictRow(verdict, String((count += 1)), at, outcome)

  const takeVerdict = (followed: Followed): void => {
    const { series, opened, running, previous } = followed
    const reading = engine.read(opened)
    if (reading.status !== 'verdict') return
    const { verdict: draft } = reading
    followed.previous = { barClose: draft.barClose, regime: draft.regime }
    const verdictId = idOf(seriesName(series), String(draft.barClose), draft.inputsHash)
    running.add({ verdict: { ...draft, verdictId, previous, recordedLate: false }, race: raceOf(draft) })
  }

  for await (const { phase, bars } of batches) {
    if (phase === 'live' && !isLive) {
      isLive = true
      for (const followed of bySeries.values()) takeVerdict(followed)
    }
    for (const { series, candle } of bars) {
      const followed = bySeries.get(seriesName(series))
      if (followed === undefined) continue
      for (const runner of followed.running) {
        const ended = runner.race.take(candle)
        if (ended === undefined) continue
        followed.running.delete(runner)
        onOutcome({ ...outcomeOf(runner.verdict), ...ended })
        yield rowOf(runner.verdict, ended)
      }
      engine.push(followed.opened, candle)
      if (isLive) takeVerdict(followed)
    }
  }
  for (const { running } of bySeries.values()) for (const { verdict } of running) yield rowOf(verdict, null)
}

const raceOf = ({ barClose, barrier, timeframe }: VerdictDraft): Race =>
  createRace({ barClose, barrier, barMs: timeframeMs(timeframe), windowBars: WINDOW_BARS[timeframe] })

/** The part of an outcome that repeats its verdict. */
const outcomeOf = (verdict: Runner['verdict']): Omit<Outcome, keyof RaceResult> => {
  const { exchange, coin, timeframe, verdictId, barClose, validUntil } = verdict
  const { modelVersion, call, probability, barrier, forecast } = verdict
  const about = { exchange, coin, timeframe, verdictId, barClose, validUntil }
  const said = { modelVersion, call, probability, barrier, forecast }
  return { ...about, ...said, recordedLate: false, barsMissed: 0 }
}
