import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import type { RangeModelData, RangeScores } from '../../../services/engine/forecast/range-model.ts'
import { interval, table as tableOf } from './cells.ts'

/** When the ranges of this release were scored on the bars that had chosen nothing. */
const SCORED_ON = '2026-11-24'

const day = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10)
const percent = (share: number): string => (100 * share).toFixed(1)

function scoresTable(scores: readonly (readonly [Timeframe, RangeScores])[]): string {
  const rows = scores.map(([timeframe, one]) => [
    timeframe,
    day(one.from),
    day(one.to),
    one.forecasts.toLocaleString('en'),
    percent(one.coverage80),
    percent(one.coverage50),
    percent(one.belowConstant),
    percent(one.belowCoinConstant),
    percent(one.belowEwma),
    one.coinYears === undefined ? '' : `${one.coinYears.within} of ${one.coinYears.all}`,
    `${one.cellsOutside.length} of ${one.cells}${one.cellsOutside.length === 0 ? '' : `: ${one.cellsOutside.join(', ')}`}`,
  ])
  const head = [
    'Timeframe',
    'From',
    'To',
    'Forecasts',
    'Within p10–p90, %',
    'Within p25–p75, %',
    'Pinball below one constant, %',
    'Below a constant of each coin, %',
    'Below an EWMA, %',
    'Coins in years within 76–84 %',
    'Coins in years outside',
  ]
  return tableOf(head, rows)
}

/** Coverage where it may differ: by how wide the range is, and by the hour of the close. */
const coverageTable = (scores: readonly (readonly [Timeframe, RangeScores])[]): string =>
  tableOf(
    [
      'Timeframe',
      'Narrowest fifth',
      '2nd',
      '3rd',
      '4th',
      'Widest fifth',
      '00–04',
      '04–08',
      '08–12',
      '12–16',
      '16–20',
      '20–24',
    ],
    scores.map(([timeframe, { fifths = [], hours = [] }]) => [
      timeframe,
      ...[...fifths, ...hours].map((share) => (share === 0 ? '' : percent(share))),
    ]),
  )

/** R² and QLIKE of the extent of windows, beside EWMA and HAR. */
const extentTable = (scores: readonly (readonly [Timeframe, RangeScores])[]): string =>
  tableOf(
    [
      'Timeframe',
      'R²',
      'R² of an EWMA',
      'R² of HAR',
      'R² above HAR',
      'QLIKE',
      'QLIKE of an EWMA',
      'QLIKE of HAR',
      'QLIKE below HAR, %',
    ],
    scores.flatMap(([timeframe, { extent }]) => {
      if (extent === undefined) return []
      const { r2, qlike, r2AboveHar, qlikeBelowHar } = extent
      const three = ({ own, ewma, har }: typeof r2): string[] =>
        [own, ewma, har].map((value) => value.toFixed(3))
      return [
        [timeframe, ...three(r2), interval(r2AboveHar, 3), ...three(qlike), interval(qlikeBelowHar, 1, 100)],
      ]
    }),
  )

/** The sections about how far prices go, in Markdown. */
export function rangesSection({ version, provenance, timeframes }: RangeModelData): string[] {
  const measured = TIMEFRAMES.map((timeframe) => [timeframe, timeframes[timeframe].measured] as const)
  // Former ranges have neither these scores nor what they are scores of.
  const isPooled = measured.some(([, { fifths }]) => fifths !== undefined)
  const blind = TIMEFRAMES.flatMap((timeframe) => {
    const { blind: scores } = timeframes[timeframe]
    return scores === undefined ? [] : [[timeframe, scores] as const]
  })
  return [
    '## How far may the price go?',
    `The direction of a price is hardly predictable; its range is. Every verdict states it, HOLDs and silent timeframes too. \`expected_range\` holds quantiles of the return from the open of the first bar of the window to the close of its last one: in four of five cases it ends within p10 and p90. \`expected_volatility\` is the standard deviation of that return. Both are computed by the model \`${version}\`, of ${provenance.series.length} recordings.`,
    `It is made of six averages of a series. Four are the variance of its bars over 2, 8, 32 and 128 bars, from their whole range (Garman and Klass) and the gap before them. Two are the absolute return over as many bars as a window has, over 50 and 200 bars. Below 8h they are taken relative to how lively that quarter hour of the day usually is, on weekdays, Saturdays and Sundays. ${isPooled ? 'Up to 1h the hours of the newest two years, those of weekends apart, add a factor each; [a refresh](#how-is-it-refreshed) estimates it again. ' : ''}The log variance to be expected is a weighted sum of their logarithms, fitted at each timeframe. ${isPooled ? 'At 8h, 12h and 1d the weights are fitted on the windows of 4h to 1d together, and the level on those of each. ' : ''}What returns stay within is counted on forecasts that had not seen them. It is as far up as down, and p50 is 0: it takes no side.`,
    'Measured walk-forward as above, every quarter fitted on what was over by then. *Pinball* is the loss that a true quantile makes least, of p10 and p90; the table compares it with one constant range for a timeframe, a constant one for each coin, and a plain EWMA of squared returns (decay 0.94). All are calibrated on the same past. A coin in a year is outside where its share within p10 and p90 is neither 74 to 86 % nor within the 99 % interval of as many windows apart.',
    scoresTable(measured),
    ...(isPooled
      ? [
          'Within p10–p90, in percent, by fifths of the range beside how far the price went over 200 windows of late, and by the hour of the close, UTC:',
          coverageTable(measured),
          'The *extent* of a window is its highest price over its lowest one. Its logarithm is forecast from the expected move, from the EWMA and from HAR, each by least squares on the same past. HAR has the mean variance of a bar over one bar, a window, a day, a week and a month, and the hours of the day. R² is the share of its variance that is explained; QLIKE is the loss of the variance that follows, and lower is better. *Above* and *below HAR* are the differences, with 95 % intervals by blocks of time.',
          extentTable(measured),
        ]
      : []),
    ...(blind.length === 0
      ? []
      : [
          `On the newest bars, on which nothing was chosen; scored once, on ${SCORED_ON}:`,
          scoresTable(blind),
          ...(isPooled ? [coverageTable(blind), extentTable(blind)] : []),
        ]),
    'Over days, prices are nearly as wild at one time as at another, so that a constant range is nearly as good.',
  ]
}
