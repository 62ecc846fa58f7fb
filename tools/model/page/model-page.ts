import { TIMEFRAMES } from '../../../contracts/timeframes.ts'
import { WINDOW_BARS } from '../../../contracts/verdict.ts'
import type { RangeModelData } from '../../../services/engine/forecast/range-model.ts'
import type { TimeframeSkill, VerdictModel } from '../../../services/engine/model.ts'
import type { Provenance } from '../../../services/engine/provenance.ts'
import { confirmed, grouped, interval, parameter, SHOWN_TIMEFRAME, table } from './cells.ts'
import { closesSection } from './closes-section.ts'
import { featureMeaning } from './feature-meanings.ts'
import { coinSection, confidenceSection, speechSection } from './gate-sections.ts'
import { rangesSection } from './ranges-section.ts'
import { uselessSection } from './useless-section.ts'

const SCORE_DIGITS = 4

/**
 * The sections of the page about the verdict model, in Markdown.
 *
 * @throws Error for a feature whose meaning is not written down
 */
export const modelPage = (model: VerdictModel, ranges: RangeModelData): string[] => [
  introduction(model),
  '## Where do the numbers come from?',
  ...origin(model),
  '## How good is it?',
  'Measured walk-forward: every forecast is by a fit that had not seen its bar, nor any bar of its window. Brackets hold 95 % intervals from blocks of time, because windows overlap and coins move together. A race is decided when one of the two barriers is reached within the window. An AUC of 0.5 is a coin. Always saying 50 % has a Brier score of 0.25, and lower is better; *spoken* counts only the bars it said BUY or SELL on. The calibration error is the mean distance of what was said from what happened. What these words mean is in [indicators-and-regimes.md](indicators-and-regimes.md#what-are-confidence-and-strength).',
  scoresTable(model),
  `Features, windows and recipe were chosen on bars before ${day(model.provenance.recipe.chosenUntil ?? model.provenance.to)}, so the first of the two AUCs that are split there flatters. Later bars chose nothing. *Unconfirmed* is a timeframe that they alone do not tell from a coin: the interval of its AUC from then on reaches 0.5.`,
  ...silences(model),
  'A timeframe makes calls where all of these hold on 180 observed days at least:',
  [
    '- the whole interval of its AUC lies above 0.5 and above the AUC of the placebo;',
    '- its Brier score where it spoke is below 0.25;',
    '- the whole interval of its win rate, by blocks, lies above the best constant call on the same bars;',
    '- the whole interval of the AUC of the newest 365 observed days lies above 0.5.',
  ].join('\n'),
  'Days without a bar count for nothing.',
  ...coinSection(model),
  ...speechSection(model),
  '## How good are its calls, with every call counted?',
  'The table counts calls that do not overlap, of each series one after the other. A call is entered at the next open and left at a barrier or, where none is reached, at the close of the window. *In favour* is the share of them that ended on the called side; beside it the same share for always BUY, always SELL and a coin on the same bars. *Gross* is the mean return of a call in basis points, *net* after 12 of costs; t is the distance of the net return from 0 in standard errors. This is the figure to judge calls by.',
  everyCallTable(model),
  'No timeframe is shown to be profitable after costs, and none is promised to be.',
  ...confidenceSection(model),
  '## How often do its calls win the races that are decided?',
  'The share of the races that reached a barrier in which the called one came first, beside what always BUY, always SELL and a coin won on the same bars. It flatters: nearly half of all calls reach no barrier within the window, and those end in favour less often than not.',
  winsTable(model),
  ...reliabilitySection(model),
  ...calibrationSection(model),
  ...closesSection(model),
  ...rangesSection(ranges),
  ...refreshSection(model),
  ...uselessSection(),
  '## What is it made of?',
  `Each measured value is divided by its scale, clipped to ± ${model.clip} and weighted: score = Σ coefficient × scaled value, with coefficients of each timeframe's own. A slope turns the score into log-odds, and those into the probability of the upper barrier, 1 / (1 + e^−log-odds). Nothing is centred, so a market turned upside down gets the opposite score; the offset alone takes a side.`,
  meaningsTable(model),
  ...coefficientsTable(model),
  ...coinSlopesTable(model),
  'The contribution of a factor in a verdict is slope × coefficient × scaled value; that of `bias` is the offset. A value that cannot be measured contributes 0.',
  '## Which data was it fitted on?',
  'The checksum is SHA-256 over the content: each bar as six little-endian doubles (open time, open, high, low, close, volume), then each funding settlement as three (time, rate, interval in hours). Its first 16 digits are shown; the model file has all.',
  dataTable(model),
]

const day = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10)
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

function origin({ provenance, timeframes }: VerdictModel): string[] {
  const { recipe, label, from, to, series } = provenance
  const coins = new Set(series.map(({ coin }) => coin))
  const borrowed = TIMEFRAMES.flatMap((timeframe) => {
    const sources = recipe.sources[timeframe]
    if (!timeframes[timeframe].skill || sources.join() === timeframe) return []
    return [`${timeframe} by those of ${sources.join(', ')} in equal parts`]
  })
  const others = borrowed.length === 0 ? '' : `; ${borrowed.join('; ')}`
  return [
    `From ${series.length} recordings of ${coins.size} coins, ${day(from)} to ${day(to)}; they are listed [below](#which-data-was-it-fitted-on). Where recordings of a coin overlap, its time is shared among them, so that nothing counts twice: a perpetual contract goes before spot, and a longer recording before a shorter one. A gap of more than 12 bars begins anew. All the coins still trade, and venues are mixed as if they were one market.`,
    `**Label.** Two barriers stand one deviation above and below the entry, the open of the next bar. The deviation is that of the last ${label.deviationBars} log returns × √window, and at least ${percent(label.floor)}. The label is which barrier comes first within the window. Windows that reach neither are time-outs, and bars that touch both are undecidable: they are counted, and not fitted on.`,
    `**Coefficients.** Ridge logistic regression without intercept (penalty ${recipe.ridgePerRace} per race) on the decided races of all coins together, of at most ${grouped(recipe.mostRaces)} evenly spread races. Each timeframe is fitted by its own races${others}.`,
    calibrationOf(provenance),
    `**Scores.** The same recipe walked forward: the first fit after ${percent(recipe.firstTrainingShare)} of a timeframe's time, or ${recipe.firstTrainingDays} days; then again every ${recipe.refitDays} days, and at least ${recipe.fewestRefits} times. The *placebo* is the same walk on outcomes moved away from their bars by half of each history: what chance alone scores.`,
    'To fit and score it again, see [indicators-and-regimes.md](indicators-and-regimes.md#how-good-are-the-verdicts).',
  ]
}

/** How scores become probabilities; former recipes left the offset out. */
function calibrationOf({ recipe, refreshed }: Provenance): string {
  const { offsets = [], habitDays = 0, coinSlopes = [] } = recipe
  const scaling =
    '**Calibration.** Platt scaling on all forecasts of the walk below, none of which had seen its bar'
  if (offsets.length === 0) return `${scaling}; its offset is left out.`
  const slopes =
    coinSlopes.length === 0
      ? ''
      : ` At ${coinSlopes.join(', ')} each coin has a further slope, of its own past, drawn to 1 (prior deviation 0.25).`
  const former =
    refreshed === undefined
      ? ''
      : ` Coefficients, slopes, scores and silences are those of \`${refreshed.model}\`, so the scores below are without the offset.`
  return `${scaling}. The offset is of the newest ${habitDays} days alone, and there is none but at ${offsets.join(', ')}: fewer races end at the upper barrier than at the lower one, and how many changes with the years.${slopes}${former}`
}

const introduction = ({ version, timeframes }: VerdictModel): string => {
  const speaking = TIMEFRAMES.filter((timeframe) => timeframes[timeframe].skill)
  const silent = TIMEFRAMES.filter((timeframe) => !timeframes[timeframe].skill)
  const calls = speaking.length === 0 ? 'makes no calls' : `makes calls at ${speaking.join(', ')}`
  const holds = silent.length === 0 ? '' : ` and answers HOLD at ${silent.join(', ')}`
  return `Verdicts of this release are computed by the model \`${version}\`. It ${calls}${holds}. It is information, not advice.`
}

function scoresTable({ timeframes, provenance }: VerdictModel): string {
  const border = day(provenance.recipe.chosenUntil ?? provenance.to)
  const rows = TIMEFRAMES.map((timeframe) => {
    const skill = timeframes[timeframe]
    const calls = skill.skill ? `BUY, SELL, HOLD${confirmed(skill)}` : 'HOLD only'
    const slope = skill.skill ? parameter(skill.slope) : ''
    return [timeframe, String(WINDOW_BARS[timeframe]), ...scoreCells(skill.measured), slope, calls]
  })
  return table(
    [
      'Timeframe',
      'Window, bars',
      'From',
      'To',
      'Observed days',
      'Decided races',
      'Timed out',
      'AUC',
      `AUC before ${border}`,
      `AUC from ${border}`,
      'AUC, newest 180 days',
      'AUC, newest year',
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

function scoreCells(measured: TimeframeSkill['measured']): string[] {
  if (measured === undefined) return Array.from({ length: 14 }, () => '')
  const { from, to, races, timeoutShare, calibrationError } = measured
  return [
    day(from),
    day(to),
    grouped(measured.observedDays),
    grouped(races.up + races.down),
    timeoutShare === null ? '' : percent(timeoutShare),
    interval(measured.auc, 3),
    interval(measured.chosenAuc ?? null, 3),
    interval(measured.untouchedAuc ?? null, 3),
    interval(measured.newestAuc, 3),
    interval(measured.newestYearAuc ?? null, 3),
    interval(measured.placeboAuc, 3),
    interval(measured.brier, SCORE_DIGITS),
    interval(measured.brierSpoken, SCORE_DIGITS),
    calibrationError === null ? '' : calibrationError.toFixed(3),
  ]
}

function everyCallTable({ timeframes }: VerdictModel): string {
  const rows = TIMEFRAMES.flatMap((timeframe) => {
    const { everyCall } = timeframes[timeframe].measured ?? {}
    if (everyCall === undefined || everyCall === null) return []
    const { trades, timeoutShare, called, alwaysBuy, alwaysSell, random } = everyCall
    return [
      [
        timeframe,
        grouped(trades),
        percent(timeoutShare),
        interval(called.inFavour, 1, 100),
        ...[alwaysBuy, alwaysSell, random].map(({ inFavour }) => (100 * inFavour.value).toFixed(1)),
        interval(called.gross, 1),
        ...[alwaysBuy, alwaysSell, random].map(({ gross }) => gross.value.toFixed(1)),
        interval(called.net, 1),
        called.net.t === null ? '' : called.net.t.toFixed(1),
      ],
    ]
  })
  return table(
    [
      'Timeframe',
      'Calls',
      'Timed out',
      'In favour, %',
      'Always BUY, %',
      'Always SELL, %',
      'Coin, %',
      'Gross, bps',
      'Always BUY, bps',
      'Always SELL, bps',
      'Coin, bps',
      'Net, bps',
      't',
    ],
    rows,
  )
}

function winsTable({ timeframes }: VerdictModel): string {
  const rows = TIMEFRAMES.flatMap((timeframe) => {
    const { measured } = timeframes[timeframe]
    if (measured === undefined || measured.winRates === null) return []
    const { winRates, spoken, verdicts, sellShare, flipsPerDay } = measured
    return [
      [
        timeframe,
        percent(spoken / verdicts),
        sellShare === null ? '' : percent(sellShare),
        grouped(winRates.races),
        interval(winRates.calledByBlocks, 1, 100),
        ...[winRates.alwaysBuy, winRates.alwaysSell, winRates.random].map(({ value }) =>
          (100 * value).toFixed(1),
        ),
        flipsPerDay === null ? '' : flipsPerDay.toFixed(2),
      ],
    ]
  })
  return table(
    [
      'Timeframe',
      'Spoke on',
      'SELL among them',
      'Decided races',
      'Won, %',
      'Always BUY, %',
      'Always SELL, %',
      'Coin, %',
      'Changes a day',
    ],
    rows,
  )
}

function reliabilitySection({ timeframes }: VerdictModel): string[] {
  const { measured } = timeframes[SHOWN_TIMEFRAME]
  if (measured === undefined) return []
  return [
    '## How far can its probabilities be trusted?',
    `Tenths of the ${SHOWN_TIMEFRAME} forecasts that the upper barrier comes first, by height, beside how often it did.`,
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

/** The gain by the offset, on the bars that the recipe was chosen on and on later ones. */
function calibrationSection({ timeframes, provenance }: VerdictModel): string[] {
  const border = day(provenance.recipe.chosenUntil ?? provenance.to)
  const error = (value: number | null | undefined): string => value?.toFixed(4) ?? ''
  const rows = TIMEFRAMES.flatMap((timeframe) => {
    const { measured, closes } = timeframes[timeframe]
    const [races, heads] = [measured?.calibrations, closes?.measured?.calibrations]
    if (races === undefined || !provenance.recipe.offsets?.includes(timeframe)) return []
    const cells = [races, heads].flatMap((one) => [...(one?.chosen ?? []), ...(one?.untouched ?? [])])
    return [[timeframe, ...cells.map(error)]]
  })
  if (rows.length === 0) return []
  const heads = ['barrier', 'close'].flatMap((what) =>
    [`before ${border}`, `from ${border}`].flatMap((when) => [
      `Which ${what}, ${when}, without`,
      `Which ${what}, ${when}, with`,
    ]),
  )
  return [
    '## What does the offset bring?',
    `The calibration error of the walk without the offset and with it. Each quarter had the offset of the ${provenance.recipe.habitDays ?? 0} days before it, as [a refresh](#how-is-it-refreshed) gives it.`,
    table(['Timeframe', ...heads], rows),
  ]
}

/** How the two parts of a model that age are estimated again. */
function refreshSection({ version, provenance: { recipe, refreshed } }: VerdictModel): string[] {
  if (recipe.offsets === undefined) return []
  return [
    '## How is it refreshed?',
    `How many races end at the upper barrier, and which hours are lively, changes with the years. Both are estimated again each quarter, on the newest ${recipe.habitDays ?? 0} days, at ${recipe.offsets.join(', ')}; coefficients, slopes and ranges stay. The same model and candles give the same file, to the last byte:`,
    `\`\`\`sh\nnpm run -s fit -- --refresh services/engine/models/${version}.json --until 2026-04-01 --version ${version}.2026q1 --data candles --out ${version}.2026q1.json\n\`\`\``,
    `It is a model of its own, with a version of its own: name its file in \`MODEL_FILES\`, and [let it speak](commands.md#what-does-models-use-do). Its verdicts name it, and are computed again with its file to the last bit, \`signal verify --recompute --model FILE\`; those of the former one are not touched.${refreshed === undefined ? '' : ` The offsets and hours of \`${version}\` are of the days up to ${day(refreshed.until)}.`}`,
  ]
}

const dataTable = ({ provenance }: VerdictModel): string =>
  table(
    ['Exchange', 'Coin', 'Market', 'Timeframe', 'From', 'To', 'Bars', 'Checksum'],
    provenance.series.map(({ exchange, coin, market, timeframe, from, to, bars, sha256 }) => [
      exchange,
      coin,
      market,
      timeframe,
      day(from),
      day(to),
      grouped(bars),
      `\`${sha256.slice(0, 16)}\``,
    ]),
  )

/** Why the timeframes that never call do not. */
function silences({ timeframes }: VerdictModel): string[] {
  const reasons = TIMEFRAMES.flatMap((timeframe) => {
    const skill = timeframes[timeframe]
    return skill.skill ? [] : [`- ${timeframe} answers HOLD because ${skill.reason}.`]
  })
  return reasons.length === 0 ? [] : [reasons.join('\n')]
}

const meaningsTable = ({ names }: VerdictModel): string =>
  table(
    ['Factor', 'Value'],
    names.map((name) => [`\`${name}\``, featureMeaning(name)]),
  )

/** Further slopes of coins, where a timeframe has some. */
const coinSlopesTable = ({ timeframes }: VerdictModel): string[] =>
  TIMEFRAMES.flatMap((timeframe) => {
    const skill = timeframes[timeframe]
    if (!skill.skill || skill.coinSlopes === undefined) return []
    const slopes = Object.entries(skill.coinSlopes).map(([coin, slope]) => [coin, parameter(slope)])
    return [
      `At ${timeframe} the slope is multiplied by that of the coin; by 1 for a coin that is not here.`,
      table(['Coin', 'Slope'], slopes),
    ]
  })

/** Per factor the coefficient of every timeframe that speaks, and the scale beside it. */
function coefficientsTable({ names, timeframes }: VerdictModel): string[] {
  const speaking = TIMEFRAMES.flatMap((timeframe) => {
    const skill = timeframes[timeframe]
    return skill.skill ? [{ timeframe, ...skill }] : []
  })
  if (speaking.length === 0) return []
  return [
    'The coefficient of each factor and, in brackets, its scale; below them the slope and the races that were fitted on.',
    table(
      ['Factor', ...speaking.map(({ timeframe }) => timeframe)],
      [
        ...names.map((name, index) => [
          `\`${name}\``,
          ...speaking.map(
            ({ scales, coefficients }) => `${parameter(coefficients[index])} (${parameter(scales[index])})`,
          ),
        ]),
        ['slope', ...speaking.map(({ slope }) => parameter(slope))],
        ['offset', ...speaking.map(({ offset }) => parameter(offset))],
        ['races', ...speaking.map(({ races }) => grouped(races))],
      ],
    ),
  ]
}
