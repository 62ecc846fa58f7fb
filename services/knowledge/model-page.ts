import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../contracts/verdict.ts'
import { featureMeaning } from './feature-meanings.ts'

/** What was measured of a model at a timeframe, on bars it was not fitted on. */
interface MeasuredSkill {
  readonly races: number
  readonly auc: number
  /** Half the width of the 95 % interval of `auc`. */
  readonly aucMargin: number
  readonly brier: number
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
  /** Sentences on where the numbers come from. */
  readonly provenance: string
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
  model.provenance,
  '## How good is it?',
  'Scored on recorded bars it was neither fitted nor calibrated on. A race is decided when one of the two barriers is reached within the window. An AUC of 0.5 is a coin; the margin is half a 95 % interval. Always saying 50 % has a Brier score of 0.25, and lower is better. What these words mean is in [indicators-and-regimes.md](indicators-and-regimes.md#what-are-confidence-and-strength).',
  scoresTable(model),
  ...silences(model),
  '## What is it made of?',
  `Each measured value is standardised, (value − mean) / scale, clipped to ± ${model.clip} and weighted. score = ${parameter(model.intercept)} + Σ coefficient × standardised value. A timeframe turns the score into log-odds, slope × score + offset, and those into the probability of the upper barrier, 1 / (1 + e^−log-odds).`,
  featuresTable(model),
  'The contribution of a factor in a verdict is slope × coefficient × standardised value; that of `bias` is slope × intercept + offset. A value that cannot be measured contributes 0.',
]

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
    const { measured } = skill
    const scores =
      measured === undefined
        ? ['', '', '']
        : [
            measured.races.toLocaleString('en'),
            `${measured.auc.toFixed(SCORE_DIGITS)} ± ${measured.aucMargin.toFixed(SCORE_DIGITS)}`,
            measured.brier.toFixed(SCORE_DIGITS),
          ]
    const scaling = skill.skill ? [parameter(skill.slope), parameter(skill.offset)] : ['', '']
    const calls = skill.skill ? 'BUY, SELL, HOLD' : 'HOLD only'
    return [timeframe, String(WINDOW_BARS[timeframe]), ...scores, ...scaling, calls]
  })
  const header = ['Timeframe', 'Window, bars', 'Decided races', 'AUC', 'Brier', 'Slope', 'Offset', 'Calls']
  return table(header, rows)
}

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
