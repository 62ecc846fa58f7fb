import type { BarsAnswer } from '../../../contracts/answers/bars.ts'
import { timeframeMs } from '../../../contracts/domain/timeframes.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { canonicalJson, type Json, type JsonObject } from '../../../contracts/infra/json.ts'
import { loadModel, SeriesEngine } from '../../engine/index.ts'

/** Fields of a verdict that follow from its place in the log, and not from bars. */
const PLACED: ReadonlySet<string> = new Set(['verdictId', 'previous', 'recordedLate'])

/** Each release words it differently; the factors give the same reasons in numbers, and they are compared. */
const WORDS = 'reasoning'

export interface Recomputed {
  readonly bars: number
  /** Fields with another value; none where the verdict is the same to the last bit. */
  readonly differences: readonly {
    readonly field: string
    readonly recorded: Json
    readonly recomputed: Json
  }[]
}

/**
 * Computes a verdict again from its bars, from the one where its state began.
 *
 * @param pages bars in the order of their time
 * @throws ServiceError `config_invalid` if another release computed the verdict, or the bars lead to none
 */
export async function recomputeVerdict(
  recorded: Verdict,
  pages: AsyncIterable<Pick<BarsAnswer, 'bars'>>,
): Promise<Recomputed> {
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
  const fields = { ...found, ...said }
  const differences = Object.keys(fields)
    .filter(
      (field) =>
        !PLACED.has(field) &&
        field !== WORDS &&
        canonicalJson(said[field] ?? null) !== canonicalJson(found[field] ?? null),
    )
    .map((field) => ({ field, recorded: said[field] ?? null, recomputed: found[field] ?? null }))
  return { bars: count, differences }
}
