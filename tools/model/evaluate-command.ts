import { ServiceError } from '../../contracts/errors.ts'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { createModel, type VerdictModel } from '../../services/engine/model.ts'
import type { SeriesCalls } from '../../services/engine/scoring/call-columns.ts'
import type { Evaluation } from '../../services/engine/scoring/evaluate-verdicts.ts'
import { evaluateColumns } from '../../services/engine/scoring/evaluate-verdicts.ts'
import { formatEvaluation } from '../../services/engine/scoring/format-evaluation.ts'
import { evaluateRecipe, prepare } from './fit-model.ts'
import { scoreLine, walkAll } from './ranges/ranges-command.ts'
import { RECIPE } from './recipe.ts'
import type { SeriesHistory } from './series-history.ts'
import { seriesSamples } from './series-samples.ts'
import { formatTargets, TARGET_TIMEFRAME, targetsOf } from './targets.ts'
import {
  DATA_FLAGS,
  DATA_HELP,
  dataSelection,
  givenModel,
  readFlags,
  runTraining,
  type TrainingPorts,
  timeframeList,
  UsageError,
} from './training-command.ts'
import { partOf } from './walk-forward.ts'

export const EVALUATE_HELP = `Prints how good the recipe of this release is on folders of candles, walked forward.

  npm run evaluate -- --data <folder> [--data <folder> …] [--timeframes 1h,4h] [--json] [--ranges] [--model model.json [--in-sample]]

${DATA_HELP}
  --timeframes A,B     only these timeframes
  --model FILE         scores this model instead, on the bars after those it was fitted on
  --in-sample          scores that model on the bars it was fitted on, too
  --ranges             scores how far prices go instead, beside EWMA and HAR
  --json               prints JSON`

const END = Number.POSITIVE_INFINITY

const instant = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 16).replace('T', ' ')

/** The last instant that a model was fitted on, or its offsets estimated on. */
const seenUntil = ({ provenance: { to, refreshed } }: VerdictModel): number =>
  Math.max(to, refreshed?.until ?? to)

/** Scores of a model file, once for the bars it was fitted on and once for those after. */
async function scoreModel(
  model: VerdictModel,
  histories: AsyncIterable<SeriesHistory>,
  withInSample: boolean,
): Promise<{ readonly outOfSample: Evaluation; readonly inSample?: Evaluation }> {
  const later: SeriesCalls[] = []
  const earlier: SeriesCalls[] = []
  const to = seenUntil(model)
  for await (const history of histories) {
    const { features: _, ...calls } = seriesSamples(model, history)
    const border = calls.barClose.findIndex((barClose) => barClose >= to)
    const seen = border < 0 ? calls.barClose.length : border
    if (seen > 0 && withInSample) earlier.push(partOf(calls, 0, seen))
    if (seen < calls.barClose.length) later.push(partOf(calls, seen, calls.barClose.length))
  }
  if (later.length === 0 && !withInSample) {
    throw new ServiceError('market_data_missing', {
      message: `The model ${model.version} was fitted on data up to ${instant(to)} UTC, and no bar of this data with a finished race is later; scores on what it has seen flatter it. Add later bars, leave --model out for the walk-forward score, or ask for --in-sample.`,
    })
  }
  return {
    outOfSample: evaluateColumns(later),
    ...(withInSample ? { inSample: evaluateColumns(earlier) } : {}),
  }
}

/**
 * Prints how good the recipe of this release is on folders of candles: walked forward, every forecast by a
 * fit that had not seen its bar. With `--model` a model file is scored instead, on the bars after those it was
 * fitted on. Answers the exit code.
 */
export function evaluateCommand(args: readonly string[], ports: TrainingPorts): Promise<number> {
  return runTraining(EVALUATE_HELP, ports, async () => {
    const flags = readFlags(args, {
      ...DATA_FLAGS,
      timeframes: { type: 'string' },
      model: { type: 'string' },
      'in-sample': { type: 'boolean', default: false },
      ranges: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    })
    if (flags['in-sample'] && flags.model === undefined) throw new UsageError('--in-sample goes with --model')
    const timeframes = timeframeList(flags.timeframes)
    const histories = (wanted: readonly Timeframe[]): AsyncIterable<SeriesHistory> =>
      ports.histories(dataSelection(flags, wanted), { report: ports.report, used: () => undefined })
    const print = (data: unknown, lines: readonly string[]): void => {
      ports.out(flags.json ? `${JSON.stringify(data)}\n` : `${lines.join('\n')}\n`)
    }
    if (flags.ranges) {
      if (flags.model !== undefined) throw new UsageError('--ranges walks the recipe and takes no --model')
      const { walks } = await walkAll(flags, timeframes, RECIPE.chosenUntil ?? END, ports)
      const scores = walks.map(([timeframe, { measured, blind }]) => ({ timeframe, measured, blind }))
      print(
        { kind: 'ranges', timeframes: scores },
        scores.flatMap(({ timeframe, measured, blind }) => [
          scoreLine(timeframe, measured),
          ...(blind === undefined ? [] : [scoreLine(`${timeframe}, bars that chose nothing`, blind)]),
        ]),
      )
      return
    }
    if (flags.model !== undefined) {
      const model = createModel(givenModel(ports, flags.model))
      const scored = await scoreModel(model, histories(timeframes), flags['in-sample'])
      print({ kind: 'model', model: model.version, fittedUntil: seenUntil(model), ...scored }, [
        `Model ${model.version}, on bars from ${instant(seenUntil(model))} UTC on, which it was not fitted on`,
        ...(scored.outOfSample.timeframes.length === 0
          ? ['  There are none.']
          : formatEvaluation(scored.outOfSample)),
        ...(scored.inSample === undefined
          ? []
          : [
              `IN SAMPLE: model ${model.version} on bars before ${instant(seenUntil(model))} UTC. It was fitted on data up to then, so these scores flatter it.`,
              ...formatEvaluation(scored.inSample),
            ]),
      ])
      return
    }
    const wanted = new Set(timeframes.flatMap((timeframe) => [timeframe, ...RECIPE.sources[timeframe]]))
    const training = await prepare(
      histories(TIMEFRAMES.filter((timeframe) => wanted.has(timeframe))),
      RECIPE,
      ports.report,
    )
    const evaluation: Evaluation = {
      timeframes: timeframes.flatMap(
        (timeframe) => evaluateRecipe(training, timeframe, ports.report)?.evaluation ?? [],
      ),
    }
    const aimed = evaluation.timeframes.find(({ timeframe }) => timeframe === TARGET_TIMEFRAME)
    const targets = aimed === undefined ? [] : targetsOf(aimed)
    print({ kind: 'walk-forward', recipe: RECIPE, ...evaluation, targets }, [
      'The recipe of this release, walked forward: every forecast is by a fit that had not seen its bar',
      '',
      ...formatEvaluation(evaluation),
      ...(targets.length === 0
        ? []
        : [`Targets at ${TARGET_TIMEFRAME}, all series:`, ...formatTargets(targets)]),
    ])
  })
}
