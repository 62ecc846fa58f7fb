import { TIMEFRAMES, type Timeframe } from '../../contracts/domain/timeframes.ts'
import type { VerdictModel } from '../../services/engine/model/verdict-model.ts'
import { type CallRecord, callsApart, isDecided, overRandomSides, recordOf } from './call-record.ts'
import { fitRanges, moveOf, scaleOf } from './fit.ts'
import { ALWAYS, CHOOSE_FROM, UNTOUCHED_FROM } from './periods.ts'
import { ENDED, type Samples } from './samples.ts'
import { areaUnder, blockMean, type Measure } from './statistics.ts'

type AllSamples = ReadonlyMap<Timeframe, Samples>

const PERIODS = {
  fit: [0, CHOOSE_FROM],
  choose: [CHOOSE_FROM, UNTOUCHED_FROM],
  untouched: [UNTOUCHED_FROM, ALWAYS],
  'choose + untouched': [CHOOSE_FROM, ALWAYS],
} as const
const NEWER = 'choose + untouched'
const FEWEST_CALLS = 50
const FEWEST_DAYS = 180
/** Reliability is told of so many decided windows at least, and of a bin with so many. */
const FEWEST_DECIDED = 2_000
const FEWEST_OF_A_BIN = 300
const BINS = [50, 51, 52, 53, 54, 55, 100] as const
const WEEK_MS = 7 * 86_400_000

const interval = ({ value, low, high }: Measure, unit = 100): string =>
  `${(unit * value).toFixed(1)} [${(unit * low).toFixed(1)}, ${(unit * high).toFixed(1)}]`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const DIRECTION_HEAD =
  'dataset,period,timeframe,calls,SELL share,won of decided %,random sides,always SELL,over always SELL points,in favour of all calls %,closes on its side %,gross bps'.split(
    ',',
  )

const directionRow = (about: readonly string[], record: CallRecord): string[] => [
  ...about,
  record.calls.toLocaleString('en'),
  record.sellShare.toFixed(2),
  interval(record.won),
  (100 * record.randomSides).toFixed(1),
  (100 * record.alwaysSell).toFixed(1),
  interval(record.overSell),
  interval(record.inFavour),
  interval(record.closes),
  interval(record.gross, 10_000),
]

/** Whether the record of a period is shown of a timeframe: all of those that call, the newer periods of the others. */
const isShown = (period: string, calls: boolean): boolean => (period === NEWER ? true : calls)

/** Calls by timeframe and period, beside others at the same instants. */
export function directionTable(all: AllSamples, model: VerdictModel, simulated: AllSamples): string {
  const rows = Object.entries(PERIODS).flatMap(([period, [from, to]]) =>
    [...all].flatMap(([timeframe, samples]) => {
      if (!isShown(period, model.timeframes[timeframe].calls)) return []
      const calls = samples.calls()
      const apart = callsApart(samples, calls, from, to)
      if (apart.length < FEWEST_CALLS) return []
      return [directionRow(['15 coins', period, timeframe], recordOf(samples, calls, apart))]
    }),
  )
  const drawn = [...simulated].flatMap(([timeframe, samples]) => {
    const calls = samples.calls()
    const apart = callsApart(samples, calls, 0, ALWAYS)
    if (apart.length < FEWEST_CALLS) return []
    return [directionRow(['simulated', 'all', timeframe], recordOf(samples, calls, apart))]
  })
  return table(DIRECTION_HEAD, [...rows, ...drawn])
}

/** 3m to 2h together, by blocks of a week: points that decided calls won over random sides. */
export function togetherTable(all: AllSamples, model: VerdictModel): string {
  const rows = Object.entries(PERIODS).map(([period, [from, to]]) => {
    const values: number[] = []
    const weeks: number[] = []
    for (const [timeframe, samples] of all) {
      if (!model.timeframes[timeframe].calls) continue
      const calls = samples.calls()
      const decided = callsApart(samples, calls, from, to).filter((place) => isDecided(samples, place))
      values.push(...overRandomSides(samples, calls, decided))
      for (const place of decided)
        weeks.push(Math.floor((samples.at('time', place) - 4 * 86_400_000) / WEEK_MS))
    }
    return [period, values.length.toLocaleString('en'), interval(blockMean(values, weeks))]
  })
  return table(['period', 'decided calls', 'over random sides, points'], rows)
}

/** The test by which a timeframe makes calls, on windows that no weight was fitted on. */
export function gateTable(all: AllSamples): string {
  const rows = [...all].map(([timeframe, samples]) => {
    const calls = samples.calls()
    const record = recordOf(samples, calls, callsApart(samples, calls, CHOOSE_FROM, ALWAYS))
    const newest = recordOf(samples, calls, callsApart(samples, calls, UNTOUCHED_FROM, ALWAYS))
    const sides = [newest.buyWon, newest.sellWon].map(({ value }) => value)
    const passes =
      record.days >= FEWEST_DAYS && record.overRandom.low > 0 && sides.every((value) => value > 0.5)
    const share = sides.map((value) => (100 * value).toFixed(1)).join(' / ')
    return [
      timeframe,
      String(record.days),
      aucOf(samples),
      interval(record.overRandom),
      interval(newest.overRandom),
      share,
      passes ? 'calls' : 'HOLD',
    ]
  })
  return table(
    'timeframe,days,AUC,over random sides points,newest half year alone,newest half year BUY / SELL won %,so'.split(
      ',',
    ),
    rows,
  )
}

function aucOf(samples: Samples): string {
  const decided = samples.within(CHOOSE_FROM, ALWAYS).filter((place) => isDecided(samples, place))
  const { value, low, high } = areaUnder(
    decided.map((place) => samples.at('logOdds', place)),
    decided.map((place) => samples.at('ended', place) === ENDED.up),
    decided.map((place) => samples.blockOf(place)),
  )
  return `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`
}

/** Said and happened, of all decided windows with a probability of the likelier barrier in a bin. */
export interface ReliabilityBin {
  readonly said: number
  readonly won: Measure
}

interface Reliability {
  readonly bins: readonly (ReliabilityBin | undefined)[]
  /** Mean distance of what was said from what happened. */
  readonly error: number
}

export function reliabilityOf(samples: Samples, from: number, to: number): Reliability | undefined {
  const places = samples.within(from, to).filter((place) => isDecided(samples, place))
  if (places.length < FEWEST_DECIDED) return undefined
  const probability = (place: number): number => 1 / (1 + Math.exp(-Math.abs(samples.at('logOdds', place))))
  const groups = Map.groupBy(places, (place) =>
    BINS.findLastIndex((edge) => 100 * probability(place) >= edge),
  )
  let error = 0
  const bins = BINS.slice(0, -1).map((_, index) => {
    const some = groups.get(index) ?? []
    const said = some.reduce((sum, place) => sum + probability(place), 0) / some.length
    const won = blockMean(
      some.map((place) => (samples.at('ended', place) > 0 === samples.at('logOdds', place) > 0 ? 1 : 0)),
      some.map((place) => samples.blockOf(place)),
    )
    if (some.length > 0) error += (some.length / places.length) * Math.abs(said - won.value)
    return some.length < FEWEST_OF_A_BIN ? undefined : { said, won }
  })
  return { bins, error }
}

export function reliabilityTable(all: AllSamples, model: VerdictModel): string {
  const rows = [...all].flatMap(([timeframe, samples]) =>
    (['untouched', NEWER] as const).flatMap((period) => {
      const [from, to] = PERIODS[period]
      const found = model.timeframes[timeframe].calls ? reliabilityOf(samples, from, to) : undefined
      if (found === undefined) return []
      const cells = found.bins.map((bin) =>
        bin === undefined ? '–' : `${(100 * bin.said).toFixed(1)}: ${interval(bin.won)}`,
      )
      return [[timeframe, period, ...cells, (100 * found.error).toFixed(1)]]
    }),
  )
  const bins = BINS.slice(0, -1).map((edge, index) => `${edge}–${index === BINS.length - 2 ? 60 : edge + 1}`)
  return table(['timeframe', 'period', ...bins, 'mean error, points'], rows)
}

/** How many windows ended within a range. */
export interface Coverage {
  readonly dataset: string
  readonly period: string
  readonly timeframe: Timeframe
  readonly windows: number
  readonly of80: Measure
  readonly of50: Measure
}

type Widths = ReadonlyMap<Timeframe, { readonly inner: number; readonly outer: number }>

function coverageOf(
  [dataset, period]: readonly [string, string],
  all: AllSamples,
  [from, to]: readonly [number, number],
  { weights, timeframes }: { readonly weights: readonly number[]; readonly timeframes: Widths },
): Coverage[] {
  return [...all].flatMap(([timeframe, samples]) => {
    const widths = timeframes.get(timeframe)
    const places = samples
      .within(from, to)
      .filter((place) => !Number.isNaN(samples.at('windowReturn', place)))
    if (widths === undefined || places.length === 0) return []
    const moves = places.map((place) => moveOf(samples, place) / scaleOf(samples, place, weights))
    const blocks = places.map((place) => samples.blockOf(place))
    const inside = (width: number): Measure =>
      blockMean(
        moves.map((move) => (move <= width ? 1 : 0)),
        blocks,
      )
    const measured = { of80: inside(widths.outer), of50: inside(widths.inner) }
    return [{ dataset, period, timeframe, windows: places.length, ...measured }]
  })
}

/** Coverage of the ranges as they ship on later windows, and of the same recipe fitted before an earlier year. */
export function coverages(
  all: AllSamples,
  { ranges, timeframes }: VerdictModel,
  simulated: AllSamples,
): Coverage[] {
  const { v2, v8, m200 } = ranges['1h'].weights
  const ships = {
    weights: [v2, v8, m200],
    timeframes: new Map(TIMEFRAMES.map((timeframe) => [timeframe, timeframes[timeframe]])),
  }
  return [
    ...coverageOf(['15 coins', 'choose (fitted before)'], all, PERIODS.choose, fitRanges(all, CHOOSE_FROM)),
    ...coverageOf(['15 coins', 'untouched (as it ships)'], all, PERIODS.untouched, ships),
    ...coverageOf(['simulated', 'all'], simulated, [0, ALWAYS], ships),
  ]
}

export const coverageTable = (found: readonly Coverage[]): string =>
  table(
    ['dataset', 'period', 'timeframe', 'windows', 'within p10–p90, %', 'within p25–p75, %'],
    found.map(({ dataset, period, timeframe, windows, of80, of50 }) => [
      dataset,
      period,
      timeframe,
      String(windows),
      interval(of80),
      interval(of50),
    ]),
  )
