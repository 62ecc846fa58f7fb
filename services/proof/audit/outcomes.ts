import type { Candle } from '../../../contracts/candle.ts'
import { isoTime } from '../../../contracts/iso-time.ts'
import { canonicalJson, type JsonObject } from '../../../contracts/json.ts'
import { type Outcome, RACE_OUTCOMES } from '../../../contracts/outcome.ts'
import { type Series, seriesName } from '../../../contracts/series.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import type { Findings } from './finding.ts'

const START = ['barClose', 'validUntil', 'barrier'] as const
const END = ['entryPrice', 'exitPrice', 'decidedAt', 'highest', 'lowest', 'closePrice'] as const
const NUMBERS = [...START, ...END]
const WIDTH = 2 + NUMBERS.length
const DECISION = ['race', 'entryPrice', 'exitPrice', 'decidedAt'] as const

/** The start and the end of a race, and the index of its entry. */
type Raced = Pick<Outcome, (typeof NUMBERS)[number] | 'race'> & { readonly index: number }

/** The outcomes of a log, as numbers in one table: as objects they would take three times the memory. */
export class OutcomeTable {
  readonly #numbers: Float64Array
  #rows = 0

  /** @param size entries of the log; memory is taken for its outcomes only */
  constructor(size: number) {
    this.#numbers = new Float64Array(size * WIDTH)
  }

  /** @returns the row of an outcome */
  add(index: number, outcome: Outcome): number {
    this.#numbers.set([index, RACE_OUTCOMES.indexOf(outcome.race)], this.#rows * WIDTH)
    const numbers = NUMBERS.map((name) => outcome[name] ?? Number.NaN)
    this.#numbers.set(numbers, this.#rows * WIDTH + 2)
    return this.#rows++
  }

  at(row: number): Raced {
    const [index, race = 0, ...numbers] = this.#numbers.subarray(row * WIDTH, (row + 1) * WIDTH)
    const fields = numbers.map((number, place) => [NUMBERS[place], Number.isNaN(number) ? null : number])
    return { ...Object.fromEntries(fields), index, race: RACE_OUTCOMES[race] } as Raced
  }
}

/** A series as its entries describe it. */
export interface AuditedSeries {
  readonly series: Series
  /** Close of the last bar with a verdict that is shown. */
  covered: number
  /** Closes of the first and the last bar of each gap between verdicts. */
  readonly gaps: (readonly [from: number, to: number])[]
  /** Rows of its outcomes in the table. */
  readonly rows: number[]
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
 * How an outcome compares with the bars of today: `without` if they are missing now, `lacking` if they were missing when
 * it was recorded.
 */
type Comparison = 'same' | 'wrong' | 'without' | 'lacking'
export type OutcomeCounts = Record<Comparison, number>

/** Computes the outcomes of a series again from the bars of today. */
export async function checkOutcomes(
  about: AuditedSeries,
  table: OutcomeTable,
  { barsOf, raceOf }: RaceTools,
  findings: Findings,
  counts: OutcomeCounts,
): Promise<void> {
  const { series, rows } = about
  const [oldest, newest] = [rows[0], rows.at(-1)]
  if (oldest === undefined || newest === undefined) return
  const bars = await barsOf(series, table.at(oldest).barClose, table.at(newest).validUntil)
  if (bars === undefined) return void (counts.without += rows.length)
  let first = 0
  for (const row of rows) {
    const outcome = table.at(row)
    while ((bars[first]?.openTime ?? Number.POSITIVE_INFINITY) < outcome.barClose) first += 1
    let end = first
    while ((bars[end]?.openTime ?? Number.POSITIVE_INFINITY) < outcome.validUntil) end += 1
    const computed = raceOf({ ...outcome, timeframe: series.timeframe }, bars.slice(first, end))
    const isWhole = end - first === (outcome.validUntil - outcome.barClose) / timeframeMs(series.timeframe)
    const found = compare(about, outcome, computed, isWhole)
    counts[found] += 1
    if (found !== 'wrong') continue
    const shown = (from: object): string =>
      canonicalJson(
        Object.fromEntries([...DECISION, ...END].map((key) => [key, (from as JsonObject)[key] ?? null])),
      )
    const name = `${seriesName(series)} at ${isoTime(outcome.barClose)}`
    const message = `${name} says ${shown(outcome)}; its bars say ${shown(computed)}`
    findings.add('wrong_outcome', outcome.index, message)
  }
}

/** A race that was decided before the first missing bar needs no others. */
function compare(about: AuditedSeries, outcome: Raced, computed: JsonObject, isWhole: boolean): Comparison {
  const isSame = (key: (typeof DECISION | typeof END)[number]): boolean => computed[key] === outcome[key]
  const isSameDecision = DECISION.every(isSame)
  if (isSameDecision && END.every(isSame)) return 'same'
  if (!isWhole && (computed.race === 'incomplete' || isSameDecision)) return 'without'
  const lackedBars = outcome.race === 'incomplete' || (isSameDecision && outcome.closePrice === null)
  return lackedBars && !hasEveryVerdict(about, outcome) ? 'lacking' : 'wrong'
}

/** If every bar of a window has a verdict, the engine that computed them had these bars. */
const hasEveryVerdict = ({ covered, gaps }: AuditedSeries, { barClose, validUntil }: Raced): boolean =>
  covered >= validUntil && !gaps.some(([from, to]) => from <= validUntil && to > barClose)
