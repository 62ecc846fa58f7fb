import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import type { VerdictModel } from '../../../services/engine/model.ts'
import { isConfirmed } from './cells.ts'

/** Timeframes at which a model makes calls, the shortest first. */
const spokenTimeframes = ({ timeframes }: Pick<VerdictModel, 'timeframes'>): Timeframe[] =>
  TIMEFRAMES.filter((timeframe) => timeframes[timeframe].skill)

/** The text of `contracts/walked-auc.ts`, from which the log of a young model is judged: a former one may still speak. */
export function walkedAucModule(
  models: readonly Pick<VerdictModel, 'version' | 'gate' | 'timeframes'>[],
): string {
  const rows = models.flatMap(({ version, gate }) => {
    const cells = TIMEFRAMES.flatMap((timeframe) => {
      const walked = gate[timeframe]?.walkedAuc
      return walked === undefined ? [] : [`'${timeframe}': ${walked}`]
    })
    return cells.length === 0 ? [] : [`  '${version}': { ${cells.join(', ')} },\n`]
  })
  const unconfirmed = models.flatMap(({ version, gate, timeframes }) => {
    const own = TIMEFRAMES.filter(
      (timeframe) => gate[timeframe] && timeframes[timeframe].skill && !isConfirmed(timeframes[timeframe]),
    )
    return own.length === 0 ? [] : [`  '${version}': [${own.map((one) => `'${one}'`).join(', ')}],\n`]
  })
  return `import type { Timeframe } from './timeframes.ts'

/**
 * AUC over the newest days of the walk that scored a model, by its version: it stands for the time before there are
 * outcomes of its own. Written by \`npm run docs\` from the verdict models that come with this release.
 */
export const WALKED_AUC: Readonly<Record<string, Partial<Record<Timeframe, number>>>> = {
${rows.join('')}}

/** Timeframes at which a model makes calls, though the bars that chose nothing do not tell them from a coin. */
export const UNCONFIRMED: Readonly<Record<string, readonly Timeframe[]>> = {
${unconfirmed.join('')}}
`
}

/** The text of `contracts/spoken-timeframes.ts`, from which schemas, prices and descriptions know them. */
export const spokenTimeframesModule = (
  model: Pick<VerdictModel, 'timeframes'>,
): string => `import type { Timeframe } from './timeframes.ts'

/**
 * Timeframes at which calls are made, the shortest first; at every other one the answer is always HOLD.
 * Written by \`npm run docs\` from the verdict model of this release.
 */
export const SPOKEN_TIMEFRAMES: readonly Timeframe[] = [${spokenTimeframes(model)
  .map((timeframe) => `'${timeframe}'`)
  .join(', ')}]
`
