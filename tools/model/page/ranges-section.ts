import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import type { RangeModelData, RangeScores } from '../../../services/engine/forecast/range-model.ts'

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
    'Coins in years outside',
  ]
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

/** The sections about how far prices go, in Markdown. */
export function rangesSection({ version, provenance, timeframes }: RangeModelData): string[] {
  const measured = TIMEFRAMES.map((timeframe) => [timeframe, timeframes[timeframe].measured] as const)
  const blind = TIMEFRAMES.flatMap((timeframe) => {
    const { blind: scores } = timeframes[timeframe]
    return scores === undefined ? [] : [[timeframe, scores] as const]
  })
  return [
    '## How far may the price go?',
    `The direction of a price is hardly predictable; its range is. Every verdict states it, HOLDs and silent timeframes too. \`expected_range\` holds quantiles of the return from the open of the first bar of the window to the close of its last one: in four of five cases it ends within p10 and p90. \`expected_volatility\` is the standard deviation of that return. Both are computed by the model \`${version}\`, of ${provenance.series.length} recordings.`,
    'It is made of six averages of a series. Four are the variance of its bars over 2, 8, 32 and 128 bars, from their whole range (Garman and Klass) and the gap before them. Two are the absolute return over as many bars as a window has, over 50 and 200 bars. Below 8h they are taken relative to how lively that quarter hour of the day usually is, on weekdays, Saturdays and Sundays. The log variance to be expected is a weighted sum of their logarithms, fitted at each timeframe; what returns stay within is counted on forecasts that had not seen them. It is as far up as down, and p50 is 0: it takes no side.',
    'Measured walk-forward as above, every quarter fitted on what was over by then. *Pinball* is the loss that a true quantile makes least, of p10 and p90; the table compares it with one constant range for a timeframe, a constant one for each coin, and a plain EWMA of squared returns (decay 0.94). All are calibrated on the same past. A coin in a year is outside where its share within p10 and p90 is neither 74 to 86 % nor within the 99 % interval of as many windows apart.',
    scoresTable(measured),
    ...(blind.length === 0
      ? []
      : ['On the newest bars, on which nothing was chosen; scored once:', scoresTable(blind)]),
    'Over days, prices are nearly as wild at one time as at another, so that a constant range is nearly as good.',
  ]
}
