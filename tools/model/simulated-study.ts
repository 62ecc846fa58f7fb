import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import type { Measure } from '../../services/engine/scoring/intervals.ts'
import { seedOfNewMarket } from '../../services/market/index.ts'
import { answerHelp } from '../../testing/answer-help.ts'
import { studySimulatedMarket } from './simulated-market.ts'

const HELP = `Scores ranges and calls on the simulated market, by the regime that its bars were drawn from.

  npm run -s study:simulated -- <hours of market time> [timeframe …]

  Shares are of windows that end within p10 and p90. Brackets hold 95 % intervals from blocks of time.`

const told = (measure: Measure | null | undefined, scale: number, digits: number): string =>
  measure?.low === undefined || measure.low === null || measure.high === null
    ? ''
    : `${(measure.value * scale).toFixed(digits)} [${(measure.low * scale).toFixed(digits)}, ${(measure.high * scale).toFixed(digits)}]`

/** Answers the exit code. */
function main([hours = '', ...named]: readonly string[]): number {
  const timeframes = TIMEFRAMES.filter((one) => named.length === 0 || named.includes(one))
  const strangers = named.filter((one) => !TIMEFRAMES.includes(one as Timeframe))
  if (!/^[1-9]\d{2,6}$/.test(hours) || strangers.length > 0) {
    process.stderr.write(`${HELP}\n`)
    return 2
  }
  const rows = [
    '| | ranging, % | rising, % | falling, % | volatile, % | AUC | in favour, % | gross, bps |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
  ]
  for (const timeframe of timeframes) {
    const { coverage, auc, calls } = studySimulatedMarket(seedOfNewMarket('signal'), timeframe, Number(hours))
    const regimes = (['ranging', 'rising', 'falling', 'volatile'] as const).map((regime) =>
      told(coverage.get(regime), 100, 1),
    )
    const cells = [
      timeframe,
      ...regimes,
      ...(calls === null
        ? ['', '', '']
        : [told(auc, 1, 3), told(calls.called.inFavour, 100, 1), told(calls.called.gross, 1, 1)]),
    ]
    rows.push(`| ${cells.join(' | ')} |`)
  }
  process.stdout.write(`${rows.join('\n')}\n`)
  return 0
}

answerHelp(HELP)
process.exitCode = main(process.argv.slice(2))
