import { type Series, seriesName } from '../../contracts/series.ts'
import { TIMEFRAMES, timeframeMs } from '../../contracts/timeframes.ts'
import type { Call } from '../../contracts/verdict.ts'
import type { VerdictRow } from '../../contracts/verdict-row.ts'
import { type CallSign, callOf, nextCall } from './call-trigger.ts'
import type { FeatureName } from './features.ts'
import { silenceKey } from './gate.ts'
import { coinSlopeOf, type VerdictModel } from './model.ts'
import { BIAS_FACTOR, contributionOf, probabilityOf } from './reasoning.ts'
import { wasSilenced } from './speech/silenced.ts'

/** The fields of a recorded verdict from which another model's verdict follows. */
export type RecordedSaying = Series &
  Pick<
    VerdictRow,
    | 'bar_close'
    | 'probability'
    | 'factors'
    | 'expected_range'
    | 'anchor_bar'
    | 'model_version'
    | 'call'
    | 'reasoning'
  >

/** The verdict of another model at the bar of a recorded verdict. */
export type OtherSaying =
  | {
      readonly kind: 'said'
      readonly probability: number
      /** Null where it depends on bars before those that are there. */
      readonly call: Call | null
    }
  /** Features that it weighs, and that nobody recorded. */
  | { readonly kind: 'lacking'; readonly features: readonly FeatureName[] }

/** Every call that a series may stand at, as far as is known. */
const ANY_CALL: readonly CallSign[] = [-1, 0, 1]

interface SeriesState {
  readonly barClose: number
  readonly anchor: string
  readonly calls: readonly CallSign[]
}

/**
 * Computes the verdicts of another model beside recorded ones, equal to the last bit to those of an engine with that
 * model: the factors of a verdict hold the measurements, which do not depend on the model. A call also depends on the
 * call before it, so all possible calls are carried on until the forecast leaves one of them; a missing bar, or a state
 * that began anew, makes all possible again. Withdrawals apply to the recorded model only: another model would have a
 * record of its own.
 *
 * @returns a function to call with the verdicts of each series in the order of their bars
 */
export function createWhatIf(model: VerdictModel): (row: RecordedSaying) => OtherSaying {
  const bySeries = new Map<string, SeriesState>()

  return (row) => {
    const name = seriesName(row)
    const barClose = Date.parse(row.bar_close)
    const last = bySeries.get(name)
    const goesOn = last?.anchor === row.anchor_bar && last.barClose + timeframeMs(row.timeframe) === barClose
    const before = goesOn ? last.calls : ANY_CALL
    const weighed = isStill(row) ? 'still' : weigh(model, row)
    const keep = (calls: readonly CallSign[]): void =>
      void bySeries.set(name, { barClose, anchor: row.anchor_bar, calls })

    if (typeof weighed === 'object') {
      keep(ANY_CALL)
      return { kind: 'lacking', features: weighed }
    }
    const speaks =
      weighed !== 'still' &&
      model.speaks[TIMEFRAMES.indexOf(row.timeframe)] === true &&
      !model.silentCoins.has(silenceKey(row.timeframe, row.coin))
    const probability = weighed === 'still' ? 0.5 : weighed
    const calls: CallSign[] = speaks ? [...new Set(before.map((call) => nextCall(call, probability)))] : [0]
    keep(calls)
    const [only] = calls
    const call = calls.length === 1 && only !== undefined ? callOf(only) : null
    const isWithdrawn = row.model_version === model.version && wasSilenced(row)
    return { kind: 'said', probability, call: isWithdrawn ? 'HOLD' : call }
  }
}

/** A market that stands still: nothing is measured in it, by any model. */
const isStill = ({ factors, probability, expected_range }: RecordedSaying): boolean =>
  expected_range === null &&
  probability === 0.5 &&
  factors.every(({ name, status, contribution }) =>
    name === BIAS_FACTOR ? contribution === 0 : status === 'unavailable',
  )

/** The probability; or which features are missing for it. */
function weigh(
  { names, weights, inverseScales, clip, timeframes }: VerdictModel,
  { timeframe, coin, factors }: RecordedSaying,
): number | readonly FeatureName[] {
  const skill = timeframes[timeframe]
  const first = TIMEFRAMES.indexOf(timeframe) * names.length
  const lacking: FeatureName[] = []
  const coinSlope = coinSlopeOf(skill, coin)
  let logOdds = skill.skill ? skill.offset : 0
  for (const [index, name] of names.entries()) {
    const weight = coinSlope * (weights[first + index] ?? 0)
    // A feature without weight contributes nothing.
    if (weight === 0) continue
    const factor = factors.find((one) => one.name === name)
    if (factor === undefined) lacking.push(name)
    else
      logOdds += contributionOf(factor.value ?? Number.NaN, inverseScales[first + index] ?? 0, weight, clip)
  }
  return lacking.length > 0 ? lacking : probabilityOf(logOdds)
}
