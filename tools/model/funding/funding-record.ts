import { DAY_MS } from '../../../contracts/timeframes.ts'
import type { PairDay } from './walk-funding.ts'

/** Results of the days on which a rule would have entered a pair, in basis points after fees. */
export interface EntryRecord {
  /** Share of the days scanned; 0 to 1. */
  readonly share: number
  /** Means over the entries; NaN without any. */
  readonly expectedBps: number
  readonly realisedBps: number
  /**
   * Half of the 95 % interval of what was realised. Holdings of one pair overlap and resemble those of the
   * weeks around them, so it is taken from sums over blocks of four weeks; NaN with fewer than two blocks.
   */
  readonly realisedMarginBps: number
  /** Share of entries that paid more than the fees; NaN without any. */
  readonly wonShare: number
}

/** The record of one pair of exchanges in one coin. */
export interface PairRecord {
  /** @example 'BTC HL–BINANCE' */
  readonly name: string
  readonly fromMs: number
  readonly toMs: number
  readonly days: number
  /** Mean over the days. */
  readonly persistence: number
  /** Rank correlation of what was expected and what was paid, both with their signs. */
  readonly rankCorrelation: number
  /** Entering every day, in the direction of the scan. */
  readonly always: EntryRecord
  /** Entering on days with more than nothing expected after fees. */
  readonly recommended: EntryRecord
  /** Entering where the newest two rates, if they stayed, would pay the fees: what an annualised list says. */
  readonly byNewestRates: EntryRecord
}

const BPS = 10_000
const BLOCK_MS = 28 * DAY_MS
/** Half-width of a 95 % interval, in standard errors. */
const NORMAL_95 = 1.96

/** Adds up the days of a walk by pair, ordered by name. */
export function fundingRecords(days: Iterable<PairDay>, feesBps: number): PairRecord[] {
  const byPair = new Map<string, PairDay[]>()
  for (const day of days) {
    const name = pairName(day)
    const own = byPair.get(name)
    if (own === undefined) byPair.set(name, [day])
    else own.push(day)
  }
  return [...byPair]
    .map(([name, own]) => recordOf(name, own, feesBps))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Exchange pairs have no order: it is the one later in the alphabet that is named first. */
function pairName({ coin, long, short }: PairDay): string {
  const [second, first] = [long.exchange, short.exchange].toSorted()
  return `${coin} ${first}–${second}`
}

function recordOf(name: string, days: readonly PairDay[], feesBps: number): PairRecord {
  const fees = feesBps / BPS
  // The first named is short where the sign is positive, so that days compare with one another.
  const signOf = (day: PairDay): number => (name.startsWith(`${day.coin} ${day.short.exchange}–`) ? 1 : -1)
  return {
    name,
    fromMs: days[0]?.atMs ?? Number.NaN,
    toMs: days.at(-1)?.atMs ?? Number.NaN,
    days: days.length,
    persistence: mean(days.map(({ persistence }) => persistence)),
    rankCorrelation: rankCorrelation(
      days.map((day) => signOf(day) * day.expected),
      days.map((day) => signOf(day) * day.realised),
    ),
    always: entries(days, days.length, fees),
    recommended: entries(
      days.filter(({ expected }) => expected > fees),
      days.length,
      fees,
    ),
    byNewestRates: entries(
      days
        .filter(({ atNewestRates }) => Math.abs(atNewestRates) > fees)
        .map((day) => ({
          atMs: day.atMs,
          expected: Math.abs(day.atNewestRates),
          realised: Math.sign(day.atNewestRates) * day.realised,
        })),
      days.length,
      fees,
    ),
  }
}

type Entry = Pick<PairDay, 'atMs' | 'expected' | 'realised'>

function entries(taken: readonly Entry[], days: number, fees: number): EntryRecord {
  const realised = mean(taken.map((entry) => entry.realised))
  const blocks = new Map<number, number>()
  for (const entry of taken) {
    const block = Math.floor(entry.atMs / BLOCK_MS)
    blocks.set(block, (blocks.get(block) ?? 0) + entry.realised - realised)
  }
  const squares = [...blocks.values()].reduce((sum, deviation) => sum + deviation * deviation, 0)
  // As with any variance around a mean from the same few numbers.
  const correction = blocks.size < 2 ? Number.NaN : blocks.size / (blocks.size - 1)
  return {
    share: taken.length / days,
    expectedBps: BPS * (mean(taken.map(({ expected }) => expected)) - fees),
    realisedBps: BPS * (realised - fees),
    realisedMarginBps: (BPS * NORMAL_95 * Math.sqrt(correction * squares)) / taken.length,
    wonShare: mean(taken.map((entry) => (entry.realised > fees ? 1 : 0))),
  }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** Spearman's: the correlation of ranks, ties sharing theirs; NaN where one of them does not vary. */
export function rankCorrelation(first: readonly number[], second: readonly number[]): number {
  const [a, b] = [ranksOf(first), ranksOf(second)]
  const middle = (first.length - 1) / 2
  let [products, squaresA, squaresB] = [0, 0, 0]
  for (let index = 0; index < a.length; index++) {
    const [fromA, fromB] = [(a[index] as number) - middle, (b[index] as number) - middle]
    products += fromA * fromB
    squaresA += fromA * fromA
    squaresB += fromB * fromB
  }
  return products / Math.sqrt(squaresA * squaresB)
}

function ranksOf(values: readonly number[]): Float64Array {
  const order = values.map((_, index) => index).toSorted((a, b) => (values[a] ?? 0) - (values[b] ?? 0))
  const ranks = new Float64Array(values.length)
  for (let from = 0; from < order.length; ) {
    let to = from
    while (to < order.length && values[order[to] ?? 0] === values[order[from] ?? 0]) to += 1
    for (let index = from; index < to; index++) ranks[order[index] ?? 0] = (from + to - 1) / 2
    from = to
  }
  return ranks
}
