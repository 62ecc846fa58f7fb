import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { featureMeaning } from './feature-meanings.ts'

/** A number with the ends of its 95 % interval. */
interface Interval {
  readonly value: number
  readonly low: number | null
  readonly high: number | null
}

/** What was measured of a model at a timeframe, on bars it was not fitted on. */
interface MeasuredSkill {
  readonly verdicts: number
  readonly from: number
  readonly to: number
  readonly races: { readonly up: number; readonly down: number; readonly both: number }
  readonly timeoutShare: number | null
  readonly auc: Interval | null
  readonly brier: Interval | null
  readonly brierSpoken: Interval | null
  readonly calibrationError: number | null
  readonly reliability: readonly {
    readonly from: number
    readonly to: number
    readonly races: number
    readonly said: number
    readonly happened: number
  }[]
  readonly spoken: number
  readonly sellShare: number | null
  readonly winRates: {
    readonly races: number
    readonly called: Interval
    readonly calledByBlocks: Interval
    readonly alwaysBuy: Interval
    readonly alwaysSell: Interval
    readonly random: Interval
  } | null
  readonly expectancy: (Interval & { readonly t: number | null; readonly trades: number }) | null
  readonly flipsPerDay: number | null
  readonly placeboAuc: Interval | null
}

type DescribedSkill =
  | {
      readonly skill: true
      readonly slope: number
      readonly offset: number
      readonly measured: MeasuredSkill
    }
  | { readonly skill: false; readonly reason: string; readonly measured?: MeasuredSkill | undefined }

/** What the page needs to know of the verdict model; the lists run in the same order. */
export interface DescribedModel {
  readonly version: string
  /** The data, the recipe and the label that the numbers come from. Times are Unix milliseconds. */
  readonly provenance: {
    readonly recipe: {
      readonly fitTimeframe: Timeframe
      readonly ridgePerRace: number
      readonly firstTrainingShare: number
      readonly firstTrainingDays: number
      readonly refitDays: number
      readonly fewestRefits: number
      readonly calibrationShare: number
    }
    readonly label: { readonly deviationBars: number; readonly floor: number }
    readonly from: number
    readonly to: number
    readonly races: number
    readonly series: readonly {
      readonly exchange: string
      readonly coin: string
      readonly timeframe: Timeframe
      readonly from: number
      readonly to: number
      readonly bars: number
      readonly sha256: string
    }[]
  }
  readonly intercept: number
  readonly clip: number
  readonly names: readonly string[]
  readonly means: ArrayLike<number>
  readonly inverseScales: ArrayLike<number>
  readonly coefficients: ArrayLike<number>
  readonly timeframes: Readonly<Record<Timeframe, DescribedSkill>>
}

/** As many digits as a model is written with. */
const PARAMETER_DIGITS = 6
const SCORE_DIGITS = 4

const parameter = (value: number | undefined): string =>
  String(Number((value ?? Number.NaN).toFixed(PARAMETER_DIGITS)))

/**
 * The sections of the page about the verdict model, in Markdown.
 *
 * @throws Error for a feature whose meaning is not written down
 */
export const modelPage = (model: DescribedModel): string[] => [
  introduction(model),
  '## Where do the numbers come from?',
  ...origin(model),
  '## How good is it?',
  'Measured walk-forward: every forecast is by a fit that had not seen its bar, nor any bar of its window. Brackets hold 95 % intervals from blocks of time, because windows overlap and coins move together. A race is decided when one of the two barriers is reached within the window. An AUC of 0.5 is a coin. Always saying 50 % has a Brier score of 0.25, and lower is better; *spoken* counts only the bars it said BUY or SELL on. The calibration error is the mean distance of what was said from what happened. What these words mean is in [indicators-and-regimes.md](indicators-and-regimes.md#what-are-confidence-and-strength).',
  scoresTable(model),
  ...silences(model),
  'A timeframe speaks where the whole interval of its AUC lies above 0.5 and above the AUC of the placebo, both Brier scores are below 0.25, and its calls won more often than the best constant call did on the same bars.',
  '## How often do its calls win, and what do they earn?',
  'Races that do not overlap: of each series one counts only where the one counted before it was over. *Won* is the share of the races that reached a barrier in which the called one came first; beside it what always saying BUY, always saying SELL and a coin won on the same bars. *Net* is the mean return of entering every such call at the next open and leaving at the barrier or the end of the window, after 12 basis points of costs; t is its distance from 0 in standard errors.',
  winsTable(model),
  'No timeframe is shown to be profitable after costs, and none is promised to be.',
  ...reliabilitySection(model),
  '## What is it made of?',
  `Each measured value is scaled, (value − mean) / scale, clipped to ± ${model.clip} and weighted. score = ${parameter(model.intercept)} + Σ coefficient × scaled value. A timeframe turns the score into log-odds, slope × score + offset, and those into the probability of the upper barrier, 1 / (1 + e^−log-odds). Means, intercept and offsets of 0 make it even-handed: a market turned upside down gets the opposite verdict.`,
  featuresTable(model),
  'The contribution of a factor in a verdict is slope × coefficient × scaled value; that of `bias` is slope × intercept + offset. A value that cannot be measured contributes 0.',
  '## Which data was it fitted on?',
  'The checksum is SHA-256 over the content: each bar as six little-endian doubles (open time, open, high, low, close, volume), then each funding settlement as three (time, rate, interval in hours). Its first 16 digits are shown; the model file has all.',
  dataTable(model),
]

const day = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10)
const grouped = (value: number): string => value.toLocaleString('en')
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

/** "0.540 [0.527, 0.552]", in units of `factor`; empty where nothing was measured. */
function interval(measure: Interval | null, digits: number, factor = 1): string {
  if (measure === null) return ''
  const { value, low, high } = measure
  const text = (number: number): string => (factor * number).toFixed(digits)
  return low === null || high === null ? text(value) : `${text(value)} [${text(low)}, ${text(high)}]`
}

function origin({ provenance }: DescribedModel): string[] {
  const { recipe, label, from, to, races, series } = provenance
  const coins = new Set(series.map(({ exchange, coin }) => `${exchange} ${coin}`))
  return [
    `From ${series.length} series of ${coins.size} markets, ${day(from)} to ${day(to)}; they are listed [below](#which-data-was-it-fitted-on).`,
    `**Label.** Two barriers stand one deviation above and below the entry, the open of the next bar. The deviation is that of the last ${label.deviationBars} log returns × √window, and at least ${percent(label.floor)}. The label is which barrier comes first within the window. Windows that reach neither are time-outs, and bars that touch both are undecidable: they are counted, and not fitted on.`,
    `**Coefficients.** Ridge logistic regression without intercept (penalty ${recipe.ridgePerRace} per race) on ${grouped(races)} decided ${recipe.fitTimeframe} races of all coins together: the older ${percent(1 - recipe.calibrationShare)} of the time. All timeframes share them.`,
    `**Calibration.** Platt scaling, its offset left out, on the newest ${percent(recipe.calibrationShare)} of each timeframe's own time. Races that reach across a border belong to neither side.`,
    `**Scores.** The same recipe walked forward: the first fit after ${percent(recipe.firstTrainingShare)} of a timeframe's time, or ${recipe.firstTrainingDays} days; then again every ${recipe.refitDays} days, and at least ${recipe.fewestRefits} times. The *placebo* is the same walk on outcomes moved away from their bars by half of each series: what chance alone scores.`,
    'To fit and score it again, see [indicators-and-regimes.md](indicators-and-regimes.md#how-good-are-the-verdicts).',
  ]
}

const introduction = ({ version, timeframes }: DescribedModel): string => {
  const speaking = TIMEFRAMES.filter((timeframe) => timeframes[timeframe].skill)
  const silent = TIMEFRAMES.filter((timeframe) => !timeframes[timeframe].skill)
  const calls = speaking.length === 0 ? 'makes no calls' : `makes calls at ${speaking.join(', ')}`
  const holds = silent.length === 0 ? '' : ` and answers HOLD at ${silent.join(', ')}`
  return `Verdicts of this release are computed by the model \`${version}\`. It ${calls}${holds}. It is information, not advice.`
}

function scoresTable({ timeframes }: DescribedModel): string {
  const rows = TIMEFRAMES.map((timeframe) => {
    const skill = timeframes[timeframe]
    const calls = skill.skill ? 'BUY, SELL, HOLD' : 'HOLD only'
    const slope = skill.skill ? parameter(skill.slope) : ''
    return [timeframe, String(WINDOW_BARS[timeframe]), ...scoreCells(skill.measured), slope, calls]
  })
  return table(
    [
      'Timeframe',
      'Window, bars',
      'From',
      'To',
      'Decided races',
      'Timed out',
      'AUC',
      'Placebo AUC',
      'Brier',
      'Brier spoken',
      'Calibration error',
      'Slope',
      'Calls',
    ],
    rows,
  )
}

function scoreCells(measured: MeasuredSkill | undefined): string[] {
  if (measured === undefined) return ['', '', '', '', '', '', '', '', '']
  const { from, to, races, timeoutShare, calibrationError } = measured
  return [
    day(from),
    day(to),
    grouped(races.up + races.down),
    timeoutShare === null ? '' : percent(timeoutShare),
    interval(measured.auc, 3),
    interval(measured.placeboAuc, 3),
    interval(measured.brier, SCORE_DIGITS),
    interval(measured.brierSpoken, SCORE_DIGITS),
    calibrationError === null ? '' : calibrationError.toFixed(3),
  ]
}

function winsTable({ timeframes }: DescribedModel): string {
  const rows = TIMEFRAMES.flatMap((timeframe) => {
    const { measured } = timeframes[timeframe]
    if (measured === undefined) return []
    const { winRates, expectancy, spoken, verdicts, sellShare, flipsPerDay } = measured
    if (winRates === null || expectancy === null) return []
    return [
      [
        timeframe,
        percent(spoken / verdicts),
        sellShare === null ? '' : percent(sellShare),
        grouped(winRates.races),
        interval(winRates.called, 1, 100),
        interval(winRates.calledByBlocks, 1, 100),
        ...[winRates.alwaysBuy, winRates.alwaysSell, winRates.random].map(({ value }) =>
          (100 * value).toFixed(1),
        ),
        interval(expectancy, 1),
        expectancy.t === null ? '' : expectancy.t.toFixed(1),
        flipsPerDay === null ? '' : flipsPerDay.toFixed(2),
      ],
    ]
  })
  return table(
    [
      'Timeframe',
      'Spoke on',
      'SELL among them',
      'Races',
      'Won, %, Wilson',
      'Won, %, by blocks',
      'Always BUY, %',
      'Always SELL, %',
      'Coin, %',
      'Net, bps',
      't',
      'Changes a day',
    ],
    rows,
  )
}

function reliabilitySection({ provenance, timeframes }: DescribedModel): string[] {
  const { fitTimeframe } = provenance.recipe
  const { measured } = timeframes[fitTimeframe]
  if (measured === undefined) return []
  return [
    '## How far can its probabilities be trusted?',
    `Tenths of the ${fitTimeframe} forecasts that the upper barrier comes first, by height, beside how often it did.`,
    table(
      ['Forecasts', 'Races', 'Said', 'Happened'],
      measured.reliability.map(({ from, to, races, said, happened }) => [
        `${from.toFixed(3)}–${to.toFixed(3)}`,
        grouped(races),
        said.toFixed(3),
        happened.toFixed(3),
      ]),
    ),
  ]
}

const dataTable = ({ provenance }: DescribedModel): string =>
  table(
    ['Exchange', 'Coin', 'Timeframe', 'From', 'To', 'Bars', 'Checksum'],
    provenance.series.map(({ exchange, coin, timeframe, from, to, bars, sha256 }) => [
      exchange,
      coin,
      timeframe,
      day(from),
      day(to),
      grouped(bars),
      `\`${sha256.slice(0, 16)}\``,
    ]),
  )

/** Why the timeframes that never call do not. */
function silences({ timeframes }: DescribedModel): string[] {
  const reasons = TIMEFRAMES.flatMap((timeframe) => {
    const skill = timeframes[timeframe]
    return skill.skill ? [] : [`- ${timeframe} answers HOLD because ${skill.reason}.`]
  })
  return reasons.length === 0 ? [] : [reasons.join('\n')]
}

const featuresTable = ({ names, means, inverseScales, coefficients }: DescribedModel): string =>
  table(
    ['Factor', 'Value', 'Mean', 'Scale', 'Coefficient'],
    names.map((name, index) => [
      `\`${name}\``,
      featureMeaning(name),
      parameter(means[index]),
      parameter(1 / (inverseScales[index] ?? Number.NaN)),
      parameter(coefficients[index]),
    ]),
  )

const table = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
