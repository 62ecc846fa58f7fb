import { basename } from 'node:path'
import type { Candle } from '../../../contracts/candle.ts'
import { TIMEFRAMES, type Timeframe, timeframeMs } from '../../../contracts/timeframes.ts'
import { NEWEST_REGIME_RULE } from '../../../services/engine/call-trigger.ts'
import { loadModel } from '../../../services/engine/model.ts'
import { readCandles } from '../../../services/engine/testing/read-candles.ts'
import { answerHelp } from '../../../testing/answer-help.ts'
import { regimeColumns } from './regime-columns.ts'
import { regimeTable } from './regime-table.ts'

const HELP = `Prints what the regime was worth on files of candles, and beside each on its bars with the direction drawn by a coin.

  npm run -s study:regime -- <candles.csv.gz> …`

/** The length of bars is the smallest step in time: gaps are longer. */
function timeframeOf(bars: readonly Candle[]): Timeframe | undefined {
  const steps = bars.slice(1).map((bar, index) => bar.openTime - (bars[index]?.openTime ?? 0))
  const smallest = steps.reduce((least, step) => Math.min(least, step), Number.POSITIVE_INFINITY)
  return TIMEFRAMES.find((timeframe) => timeframeMs(timeframe) === smallest)
}

/** Answers the exit code. */
function main(files: readonly string[]): number {
  if (files.length === 0) {
    process.stderr.write(`${HELP}\n`)
    return 2
  }
  const model = { ...loadModel(), regime: NEWEST_REGIME_RULE }
  const columns = []
  for (const file of files) {
    const bars = readCandles(file)
    const timeframe = timeframeOf(bars)
    if (timeframe === undefined) {
      process.stderr.write(`${file}: the step between its bars is no timeframe (${TIMEFRAMES.join(', ')})\n`)
      return 4
    }
    const title = basename(file).replace(/\.csv\.gz$/, '')
    columns.push(...regimeColumns(model, title, timeframe, bars))
  }
  process.stdout.write(`${regimeTable(columns)}\n`)
  return 0
}

answerHelp(HELP)
process.exitCode = main(process.argv.slice(2))
