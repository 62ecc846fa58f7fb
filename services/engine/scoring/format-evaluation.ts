import { isoDay } from '../../../contracts/iso-time.ts'
import { FEWEST_FOR_PERCENT, grouped, shareText } from '../../../contracts/share-text.ts'
import type { ClosesEvaluation, Evaluation, TimeframeEvaluation } from './evaluate-verdicts.ts'
import type { Measure } from './intervals.ts'
import type { ByExit, EveryCall, Scores, WinRates } from './scores-schema.ts'

const percent = (share: number | null, trials: number): string =>
  share === null ? 'unknown' : shareText(share, trials)

/** A value with its interval: "0.541 [0.531, 0.551]". */
export const interval = ({ value, low, high }: Measure, digits: number, factor = 1): string => {
  const text = (number: number): string => (factor * number).toFixed(digits)
  return low === null || high === null
    ? `${text(value)} [unknown]`
    : `${text(value)} [${text(low)}, ${text(high)}]`
}

/** A share with its interval, in percent; a count where it is of too few for a percentage. */
const shareOf = (share: Measure, trials: number): string =>
  trials < FEWEST_FOR_PERCENT ? shareText(share.value, trials) : `${interval(share, 1, 100)} %`

const orUnknown = (value: Measure | null, digits: number): string =>
  value === null ? 'unknown' : interval(value, digits)

/** Forecasts that are all one value rank nothing: their AUC of a half would be read as a measurement. */
function rankingOf({ auc, reliability }: Scores): string {
  const [first] = reliability
  const last = reliability.at(-1)
  return first !== undefined && first.from === last?.to
    ? `none: all forecasts are ${first.from.toFixed(3)}, too few races or no edge to calibrate on`
    : orUnknown(auc, 4)
}

const line = (name: string, text: string): string => `  ${name.padEnd(20)} ${text}`

function linesOf(scores: Scores): string[] {
  const { races, winRates, everyCall } = scores
  const outcomes = `${grouped(races.up)} up, ${grouped(races.down)} down, ${grouped(races.both)} both, ${grouped(races.timeout)} timed out (${percent(scores.timeoutShare, scores.verdicts - races.incomplete)}), ${grouped(races.incomplete)} incomplete`
  const lines = [
    line('races', outcomes),
    line('AUC', rankingOf(scores)),
    line('AUC, newest 180 days', orUnknown(scores.newestAuc, 4)),
    line('Brier', `${orUnknown(scores.brier, 5)}; spoken ${orUnknown(scores.brierSpoken, 5)}`),
    line(
      'calibration error',
      scores.calibrationError === null ? 'unknown' : scores.calibrationError.toFixed(4),
    ),
    line(
      'spoken',
      `${grouped(scores.spoken)} of ${grouped(scores.verdicts)} verdicts, SELL among them ${percent(scores.sellShare, scores.spoken)}`,
    ),
  ]
  if (winRates !== null) lines.push(...winRateLines(winRates))
  if (everyCall !== null) lines.push(...everyCallLines(everyCall))
  const flips = scores.flipsPerDay === null ? 'unknown' : scores.flipsPerDay.toFixed(2)
  lines.push(line('changes of the call', `${flips} per series and day`))
  return lines
}

function winRateLines({ races, called, calledByBlocks, alwaysBuy, alwaysSell, random }: WinRates): string[] {
  const isMany = races >= FEWEST_FOR_PERCENT
  const of = isMany ? ` of ${grouped(races)}` : ''
  const byBlocks = isMany ? `; by blocks of time ${shareOf(calledByBlocks, races)}` : ''
  return [
    line('barrier wins', `${shareOf(called, races)}${of} non-overlapping races${byBlocks}`),
    line(
      'on the same bars',
      `always BUY ${shareOf(alwaysBuy, races)}, always SELL ${shareOf(alwaysSell, races)}, random ${shareOf(random, races)}`,
    ),
  ]
}

/** Results of all calls, with or without a barrier reached, beside those of constant calls and of a coin. */
function everyCallLines({ trades, timeoutShare, ...sides }: EveryCall): string[] {
  const side = (name: string, { inFavour, gross, net }: ByExit): string => {
    const t = net.t === null ? '—' : net.t.toFixed(2)
    return line(
      name,
      `${shareOf(inFavour, trades)} in favour; ${interval(gross, 1)} bps gross, ${interval(net, 1)} net, t ${t}`,
    )
  }
  return [
    line('every call by exit', `${grouped(trades)} calls apart, timed out ${percent(timeoutShare, trades)}`),
    side('  as called', sides.called),
    side('  always BUY', sides.alwaysBuy),
    side('  always SELL', sides.alwaysSell),
    side('  random', sides.random),
  ]
}

function reliabilityLines({ reliability }: Scores): string[] {
  return reliability.map(({ from, to, races, said, happened }) =>
    line(
      '',
      `${from.toFixed(3)}–${to.toFixed(3)}  said ${said.toFixed(4)}  happened ${races < FEWEST_FOR_PERCENT ? shareText(happened, races) : happened.toFixed(4)}  ${grouped(races).padStart(8)} races`,
    ),
  )
}

function timeframeLines({ timeframe, all, series, placebo }: TimeframeEvaluation): string[] {
  const parts = series.flatMap(({ exchange, coin, scores }) => [
    `${timeframe} ${exchange} ${coin}: ${grouped(scores.verdicts)} verdicts, ${isoDay(scores.from)} to ${isoDay(scores.to)}`,
    ...linesOf(scores),
    '',
  ])
  return [
    `${timeframe}, all ${series.length} series: ${grouped(all.verdicts)} verdicts, ${isoDay(all.from)} to ${isoDay(all.to)}`,
    ...linesOf(all),
    line('reliability', 'tenths of the forecasts that the upper barrier comes first'),
    ...reliabilityLines(all),
    '',
    ...(placebo === null
      ? []
      : [
          `${timeframe}, placebo: the same on outcomes that were moved away from their bars`,
          ...linesOf(placebo),
          '',
        ]),
    ...parts,
  ]
}

/**
 * An evaluation as lines of text: for each timeframe all series together, then each series. Brackets hold
 * 95 % intervals.
 */
export const formatEvaluation = ({ timeframes }: Evaluation): string[] => timeframes.flatMap(timeframeLines)

/** The same of the forecast that a window closes above its entry, a line for each timeframe that has it. */
export const formatCloses = (all: readonly ClosesEvaluation[]): string[] =>
  all.map(({ timeframe, windows, auc, brier, calibrationError }) =>
    line(
      `${timeframe}, closes higher`,
      `${grouped(windows)} windows; AUC ${orUnknown(auc, 4)}, Brier ${orUnknown(brier, 5)}, calibration error ${calibrationError?.toFixed(4) ?? 'unknown'}`,
    ),
  )
