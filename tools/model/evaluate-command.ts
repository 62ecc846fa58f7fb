import { reasonOf, ServiceError } from '../../contracts/errors.ts'
import { createModel, type VerdictModel } from '../../services/engine/model.ts'
import { evaluateVerdicts } from '../../services/engine/scoring/evaluate-verdicts.ts'
import type { Evaluation, ScoredCall } from '../../services/engine/scoring/evaluation.ts'
import { formatEvaluation } from '../../services/engine/scoring/format-evaluation.ts'
import { collectHistories } from './collect-histories.ts'
import { evaluateRecipe, prepare } from './fit-model.ts'
import { RECIPE } from './recipe.ts'
import type { SeriesHistory } from './series-history.ts'
import { seriesSamples } from './series-samples.ts'
import { formatTargets, targetsOf } from './targets.ts'
import {
  DATA_FLAGS,
  dataSelection,
  readFlags,
  runTraining,
  type TrainingPorts,
  timeframeList,
  UsageError,
} from './training-command.ts'
import { scoredCall } from './walk-forward.ts'

const USAGE =
  'npm run evaluate -- --data <folder> [--exchanges A,B] [--coins A,B] [--timeframes 1h,4h] [--json] [--model model.json [--in-sample]]'

const instant = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 16).replace('T', ' ')

export interface EvaluatePorts extends TrainingPorts {
  readonly readText: (path: string) => string
}

/** The calls of a model on every bar of some histories. */
function callsOf(model: VerdictModel, histories: readonly SeriesHistory[]): ScoredCall[] {
  return histories.flatMap((history) => {
    const samples = seriesSamples(model, history)
    return Array.from({ length: samples.count }, (_, index) =>
      scoredCall(samples, index, samples.probability[index] ?? 0.5, samples.sign[index] ?? 0),
    )
  })
}

/** @throws ServiceError `config_invalid` */
function loadGiven({ readText }: Pick<EvaluatePorts, 'readText'>, path: string): VerdictModel {
  let data: unknown
  try {
    data = JSON.parse(readText(path))
  } catch (cause) {
    throw new ServiceError('config_invalid', {
      message: `The model file ${path} cannot be read: ${reasonOf(cause)}`,
      cause,
    })
  }
  return createModel(data)
}

/** What a model file scores, apart for the bars after the ones it was fitted on, and those up to their end. */
function scoreModel(model: VerdictModel, histories: readonly SeriesHistory[], withInSample: boolean) {
  const calls = callsOf(model, histories)
  const { to } = model.provenance
  const later = calls.filter(({ barClose }) => barClose >= to)
  if (later.length === 0 && !withInSample) {
    throw new ServiceError('market_data_missing', {
      message: `The model ${model.version} was fitted on data up to ${instant(to)} UTC, and no bar of this data with a finished race is later; scores on what it has seen flatter it. Add later bars, leave --model out for the walk-forward score, or ask for --in-sample.`,
    })
  }
  return {
    outOfSample: evaluateVerdicts(later),
    ...(withInSample ? { inSample: evaluateVerdicts(calls.filter(({ barClose }) => barClose < to)) } : {}),
  }
}

/**
 * Prints how good the recipe of this release is on a folder of candles: walked forward, every forecast by a
 * fit that had not seen its bar. With `--model` a model file is scored instead, on the bars after those it was
 * fitted on. Answers the exit code.
 */
export function evaluateCommand(args: readonly string[], ports: EvaluatePorts): Promise<number> {
  return runTraining(USAGE, ports, async () => {
    const flags = readFlags(args, {
      ...DATA_FLAGS,
      timeframes: { type: 'string' },
      model: { type: 'string' },
      'in-sample': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    })
    if (flags['in-sample'] && flags.model === undefined) throw new UsageError('--in-sample goes with --model')
    const timeframes = timeframeList(flags.timeframes)
    const feed = ports.openFeed(dataSelection(flags))
    const print = (data: unknown, lines: readonly string[]): void => {
      ports.out(flags.json ? `${JSON.stringify(data)}\n` : `${lines.join('\n')}\n`)
    }
    if (flags.model !== undefined) {
      const model = loadGiven(ports, flags.model)
      const histories = await collectHistories(feed, new Set(timeframes))
      const scored = scoreModel(model, histories, flags['in-sample'])
      print({ kind: 'model', model: model.version, fittedUntil: model.provenance.to, ...scored }, [
        `Model ${model.version}, on bars from ${instant(model.provenance.to)} UTC on, which it was not fitted on`,
        ...(scored.outOfSample.timeframes.length === 0
          ? ['  There are none.']
          : formatEvaluation(scored.outOfSample)),
        ...(scored.inSample === undefined
          ? []
          : [
              `IN SAMPLE: model ${model.version} on bars before ${instant(model.provenance.to)} UTC. It was fitted on data up to then, so these scores flatter it.`,
              ...formatEvaluation(scored.inSample),
            ]),
      ])
      return
    }
    const wanted = new Set([...timeframes, RECIPE.fitTimeframe])
    const data = prepare(await collectHistories(feed, wanted), ports.report)
    const evaluation: Evaluation = {
      timeframes: timeframes.flatMap(
        (timeframe) => evaluateRecipe(data, timeframe, RECIPE, ports.report) ?? [],
      ),
    }
    const fitted = evaluation.timeframes.find(({ timeframe }) => timeframe === RECIPE.fitTimeframe)
    const targets = fitted === undefined ? [] : targetsOf(fitted)
    print({ kind: 'walk-forward', recipe: RECIPE, ...evaluation, targets }, [
      'The recipe of this release, walked forward: every forecast is by a fit that had not seen its bar',
      '',
      ...formatEvaluation(evaluation),
      ...(targets.length === 0
        ? []
        : [`Targets at ${RECIPE.fitTimeframe}, all series:`, ...formatTargets(targets)]),
    ])
  })
}
