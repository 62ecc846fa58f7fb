import { loadModel } from '../../services/engine/index.ts'
import { seasonOf } from '../../services/engine/model/range-forecast.ts'
import { answerHelp } from '../../testing/answer-help.ts'
import { addSamples, eachCoin, emptySamples, readFlags } from './command.ts'
import { addHours, fitDirection, fitRanges, hoursOf } from './fit.ts'
import { UNTOUCHED_FROM } from './periods.ts'

answerHelp(`Fits the numbers of the verdict model on candles and prints them. It writes no file: a person copies them.

  npm run fit -- [--data FOLDER]... [--coins BTC,ETH]`)
const flags = readFlags(process.argv.slice(2))
const [sums, counts] = [new Float64Array(48), new Float64Array(48)]
eachCoin(flags, (files) => addHours(sums, counts, files))
const hours = hoursOf(sums, counts)
const model = loadModel()
const season = seasonOf(hours)
const ranges = Object.fromEntries(
  Object.entries(model.ranges).map(([timeframe, range]) => [
    timeframe,
    range.season(0, range.barMs) === 1 && range.barMs >= 8 * 3_600_000 ? range : { ...range, season },
  ]),
) as typeof model.ranges
const all = emptySamples()
eachCoin(flags, (files, coin) => addSamples(all, { ...model, ranges }, files, coin))
const direction = fitDirection(all, model.direction).map((weight) => Number(weight.toFixed(4)))
const { weights, timeframes } = fitRanges(all, UNTOUCHED_FROM)
process.stdout.write(
  `${JSON.stringify({ direction, ranges: { weights, hours, timeframes: Object.fromEntries(timeframes) } }, null, 2)}\n`,
)
