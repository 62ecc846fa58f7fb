import type { Candle } from '../../../contracts/domain/candle.ts'
import { isoTime } from '../../../contracts/domain/iso-time.ts'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import { type Series, seriesName } from '../../../contracts/domain/series.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import type { Findings } from './finding.ts'

const DECISION = ['race', 'entryPrice', 'exitPrice', 'decidedAt'] as const
const ENDING = [...DECISION, 'highest', 'lowest', 'closePrice'] as const
const RACED = [...ENDING, 'barClose', 'validUntil', 'barrier'] as const

/** The start and the end of a race, with the index of its entry. */
type Raced = Pick<Outcome, (typeof RACED)[number]> & { readonly index: number }

/** The parts of an outcome that are held until its bars are read. */
export const racedOf = (index: number, outcome: Outcome): Raced =>
  ({ ...Object.fromEntries(RACED.map((name) => [name, outcome[name]])), index }) as Raced

/** A series as its entries describe it. */
export interface AuditedSeries {
  readonly series: Series
  /** Close of the last bar with a verdict that is shown. */
  covered: number
  /** Closes of the first and the last bar of each gap between verdicts. */
  readonly gaps: (readonly [from: number, to: number])[]
  readonly outcomes: Raced[]
}

/** Functions of other domains that the check of outcomes calls. */
export interface RaceTools {
  /** Bars that open in [from, to), oldest first; undefined if nobody has them. */
  readonly barsOf: (series: Series, from: number, to: number) => Promise<readonly Candle[] | undefined>
  /** How the race of a verdict ends on some bars. */
  readonly raceOf: (
    verdict: Pick<Verdict, 'timeframe' | 'barClose' | 'validUntil' | 'barrier'>,
    bars: readonly Candle[],
  ) => JsonObject
}

/**
 * How outcomes compare with the bars of today: `without` if bars are missing now, `lacking` if they were missing when it
 * was recorded.
 */
export type OutcomeCounts = Record<'same' | 'wrong' | 'without' | 'lacking', number>

/** Computes the outcomes of a series again from the bars of today. */
export async function checkOutcomes(
  about: AuditedSeries,
  { barsOf, raceOf }: RaceTools,
  findings: Findings,
  counts: OutcomeCounts,
): Promise<void> {
  const { series, outcomes } = about
  const [oldest, newest] = [outcomes[0], outcomes.at(-1)]
  if (oldest === undefined || newest === undefined) return
  const bars = await barsOf(series, oldest.barClose, newest.validUntil)
  if (bars === undefined) return void (counts.without += outcomes.length)
  const opens = (at: number): number => bars[at]?.openTime ?? Number.POSITIVE_INFINITY
  const barMs = timeframeMs(series.timeframe)
  let first = 0
  for (const outcome of outcomes) {
    const { index, barClose, validUntil } = outcome
    while (opens(first) < barClose) first += 1
    let end = first
    while (opens(end) < validUntil) end += 1
    const computed = raceOf({ ...outcome, timeframe: series.timeframe }, bars.slice(first, end))
    const comparison = compare(about, outcome, computed, end - first === (validUntil - barClose) / barMs)
    counts[comparison] += 1
    if (comparison !== 'wrong') continue
    const name = `${seriesName(series)} at ${isoTime(barClose)}`
    const [said, right] = [outcome, computed].map((race) => JSON.stringify(race, [...ENDING]))
    findings.add('wrong_outcome', index, `${name} says ${said}; its bars say ${right}`)
  }
}

/** A race that was decided before the first missing bar needs no others. */
function compare(
  { covered, gaps }: AuditedSeries,
  outcome: Raced,
  computed: JsonObject,
  isWhole: boolean,
): keyof OutcomeCounts {
  const isSame = (key: (typeof ENDING)[number]): boolean => computed[key] === outcome[key]
  const isSameDecision = DECISION.every(isSame)
  if (ENDING.every(isSame)) return 'same'
  if (!isWhole && (computed.race === 'incomplete' || isSameDecision)) return 'without'
  const { barClose, validUntil } = outcome
  // If every bar of a window has a verdict, the engine that computed them had these bars.
  const hadBars = covered >= validUntil && !gaps.some(([from, to]) => from <= validUntil && to > barClose)
  const lackedBars = outcome.race === 'incomplete' || (isSameDecision && outcome.closePrice === null)
  return lackedBars && !hadBars ? 'lacking' : 'wrong'
}
