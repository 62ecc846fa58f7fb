import type { BarsAnswer } from '../../../contracts/bars-answer.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { VerdictRecorded } from '../../../contracts/event-catalogue.ts'
import type { FundingRate } from '../../../contracts/funding.ts'
import { canonicalJson, type Json, type JsonObject } from '../../../contracts/json.ts'
import { timeframeMs } from '../../../contracts/timeframes.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import { keptModelFile, loadModel, SeriesEngine } from '../../engine/index.ts'

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
 * @param file of the model; the one that came with this release unless given
 * @param schema of the event; former ones lack fields that this release computes
 * @throws ServiceError `config_invalid` for another model than the verdict names, or bars that lead to no verdict
 */
export async function recomputeVerdict(
  recorded: Verdict,
  pages: AsyncIterable<Pick<BarsAnswer, 'bars' | 'funding'>>,
  file?: string,
  schema = VerdictRecorded.schema,
): Promise<Recomputed> {
  const model = loadModel(file ?? keptModelFile(recorded.modelVersion))
  if (model.version !== recorded.modelVersion)
    throw new ServiceError('config_invalid', {
      message: `The verdict was computed with ${recorded.modelVersion}, and this is ${model.version}; name its file with --model.`,
    })
  const engine = new SeriesEngine({ model })
  const { exchange, coin, timeframe } = recorded
  const slot = engine.open({ exchange, coin, timeframe })
  const barMs = timeframeMs(timeframe)
  let settled = -1
  let count = 0
  /** Pages repeat settlements from before their first bar. */
  function settle(funding: readonly FundingRate[], until: number): void {
    for (const one of funding) {
      if (one.time <= settled) continue
      if (one.time > until) break
      settled = one.time
      engine.pushFunding({ exchange, coin }, one)
    }
  }
  for await (const { bars, funding } of pages) {
    for (const bar of bars) {
      const closes = bar.openTime + barMs
      // Bar by bar: no more settlements wait in the engine than wait in a live one.
      settle(funding, closes)
      if (bar.openTime < recorded.anchorBar || closes > recorded.barClose) continue
      engine.push(slot, bar)
      count += 1
    }
    settle(funding, Number.POSITIVE_INFINITY)
  }
  const reading = engine.read(slot)
  if (reading.status !== 'verdict')
    throw new ServiceError('config_invalid', {
      message: `There are ${count} bars from the one where the state of the series began, and no verdict follows from so few: its history is not there any more.`,
    })
  const said: JsonObject = recorded
  const found: JsonObject = reading.verdict
  // A field that is left out would hide what it had to say.
  const fields = schema < VerdictRecorded.schema ? said : { ...found, ...said }
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
