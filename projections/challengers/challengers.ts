import type { JsonObject } from '../../contracts/json.ts'
import type { Outcome } from '../../contracts/outcome.ts'
import { seriesName } from '../../contracts/series.ts'
import type { Timeframe } from '../../contracts/timeframes.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import type { Projection, Rows } from '../projection.ts'
import { scoreOutcome, type TrackRecordRows } from '../track-record/track-record.ts'

/** A challenger's verdict whose window is open. */
interface OpenVerdict
  extends JsonObject,
    Readonly<
      Pick<
        Verdict,
        'verdictId' | 'barClose' | 'modelVersion' | 'call' | 'probability' | 'closesHigher' | 'barrier'
      >
    > {}

/** Open verdicts of a series, in the order of their bars: for each challenger as many as its window has bars. */
interface OpenRow extends JsonObject {
  readonly open: readonly OpenVerdict[]
}

/** A challenger beside the model that spoke, on the races that both forecast. */
export interface PairedRow extends JsonObject {
  readonly modelVersion: string
  readonly timeframe: Timeframe
  readonly races: number
  /** Sums of squared errors of their forecasts. */
  readonly squares: number
  readonly spokenSquares: number
  /** Verdicts that were never scored: late ones, and those of bars on which nobody spoke. */
  readonly unscored: number
}

export const PAIRED_PREFIX = 'paired/'
export const pairedKey = (modelVersion: string, timeframe: Timeframe): string =>
  `${PAIRED_PREFIX}${modelVersion}/${timeframe}`

/** A barrier follows from the bars alone; beyond rounding, these were others. */
const SAME_BARRIER = 1e-6

/**
 * The track record of the challengers. A race does not depend on the model that forecast it, so the outcome of the
 * spoken verdict of a bar is also the outcome of a challenger's verdict of that bar.
 */
export const challengers: Projection = {
  name: 'challengers',
  version: 2,
  changes: 'shape',
  events: ['ChallengerVerdictRecorded', 'OutcomeLabelled'],
  fold(rows, event) {
    if (event.type === 'ChallengerVerdictRecorded') takeVerdict(rows, event.data)
    if (event.type === 'OutcomeLabelled') takeOutcome(rows, event.data)
  },
}

const openKey = (series: Outcome | Verdict): string => `open/${seriesName(series)}`

function takeVerdict(rows: Rows<JsonObject>, verdict: Verdict): void {
  const { verdictId, barClose, modelVersion, call, probability, closesHigher, barrier, recordedLate } =
    verdict
  if (recordedLate) return leaveOut(rows, verdict)
  const { open } = (rows.get(openKey(verdict)) as OpenRow | undefined) ?? { open: [] }
  const close = closesHigher === undefined ? {} : { closesHigher }
  const one = { verdictId, barClose, modelVersion, call, probability, ...close, barrier }
  rows.put(openKey(verdict), { open: [...open, one] })
}

function takeOutcome(rows: Rows<JsonObject>, outcome: Outcome): void {
  const { open } = (rows.get(openKey(outcome)) as OpenRow | undefined) ?? { open: [] }
  // The outcomes of a series come in the order of its bars: older open verdicts get none.
  const over = open.filter(({ barClose }) => barClose <= outcome.barClose)
  if (over.length === 0) return
  rows.put(openKey(outcome), { open: open.slice(over.length) })
  // A challenger may have no such forecast, and is not scored by that of the model that spoke.
  const { closesHigher: _spoken, ...raced } = outcome
  for (const { barrier, ...verdict } of over) {
    const isSame =
      verdict.barClose === outcome.barClose && Math.abs(barrier / outcome.barrier - 1) < SAME_BARRIER
    if (!isSame || outcome.recordedLate) leaveOut(rows, { ...outcome, ...verdict })
    else score(rows, { ...raced, ...verdict }, outcome)
  }
}

/** @param spoken the outcome of the verdict that was spoken */
function score(rows: Rows<JsonObject>, own: Outcome, spoken: Outcome): void {
  scoreOutcome(rows as TrackRecordRows, own)
  if (own.race !== 'up' && own.race !== 'down') return
  const won = own.race === 'up' ? 1 : 0
  const before = pairedOf(rows, own)
  rows.put(pairedKey(own.modelVersion, own.timeframe), {
    ...before,
    races: before.races + 1,
    squares: before.squares + (own.probability - won) ** 2,
    spokenSquares: before.spokenSquares + (spoken.probability - won) ** 2,
  })
}

function leaveOut(rows: Rows<JsonObject>, about: Pick<Outcome, 'modelVersion' | 'timeframe'>): void {
  const before = pairedOf(rows, about)
  rows.put(pairedKey(about.modelVersion, about.timeframe), { ...before, unscored: before.unscored + 1 })
}

const pairedOf = (
  rows: Rows<JsonObject>,
  { modelVersion, timeframe }: Pick<Outcome, 'modelVersion' | 'timeframe'>,
): PairedRow =>
  (rows.get(pairedKey(modelVersion, timeframe)) as PairedRow | undefined) ?? {
    modelVersion,
    timeframe,
    races: 0,
    squares: 0,
    spokenSquares: 0,
    unscored: 0,
  }
