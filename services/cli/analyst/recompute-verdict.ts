import type { BarsAnswer } from '../../../contracts/answers/bars.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { canonicalJson, type JsonObject } from '../../../contracts/infra/json.ts'
import { loadModel, SeriesEngine } from '../../engine/index.ts'

/**
 * Three fields follow from the place of a verdict in the log, and not from bars. Each release words the reasoning
 * differently; the factors give the same reasons in numbers, and they are compared.
 */
const UNCOMPARED: ReadonlySet<string> = new Set(['verdictId', 'previous', 'recordedLate', 'reasoning'])

/**
 * Computes a verdict again from its bars, from the one where its state began.
 *
 * @throws ServiceError `config_invalid` if another release computed the verdict, or the bars lead to none
 */
export async function recomputeVerdict(recorded: Verdict, pages: AsyncIterable<Pick<BarsAnswer, 'bars'>>) {
  const model = loadModel()
  if (model.version !== recorded.modelVersion)
    throw new ServiceError('config_invalid', {
      message: `The verdict was computed with ${recorded.modelVersion}, and this release has ${model.version}; run the release that recorded it.`,
    })
  const engine = new SeriesEngine({ model })
  const { exchange, coin, timeframe } = recorded
  const opened = engine.open({ exchange, coin, timeframe })
  const barMs = timeframeMs(timeframe)
  let count = 0
  for await (const { bars } of pages) {
    for (const bar of bars) {
      if (bar.openTime < recorded.anchorBar || bar.openTime + barMs > recorded.barClose) continue
      engine.push(opened, bar)
      count += 1
    }
  }
  const reading = engine.read(opened)
  if (reading.status !== 'verdict')
    throw new ServiceError('config_invalid', {
      message: `There are ${count} bars from the one where the state of the series began, and no verdict follows from so few: its history is not there any more.`,
    })
  const said: JsonObject = recorded
  const found: JsonObject = reading.verdict
  // A field that is left out would hide what it had to say.
  const differences = Object.keys({ ...found, ...said })
    .filter((field) => !UNCOMPARED.has(field))
    .map((field) => ({ field, recorded: said[field] ?? null, recomputed: found[field] ?? null }))
    .filter((one) => canonicalJson(one.recorded) !== canonicalJson(one.recomputed))
  return { bars: count, differences }
}
