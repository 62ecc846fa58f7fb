import { TIMEFRAMES } from '../../contracts/timeframes.ts'
import { type VerdictModelData, verdictModelSchema } from '../../services/engine/model.ts'
import type { UsedSeries } from '../../services/engine/provenance.ts'
import { fitModel, prepare } from './fit-model.ts'
import { jsonText } from './json-text.ts'
import { RECIPE } from './recipe.ts'
import { refreshedTimeframes, refreshModel } from './refresh-model.ts'
import { formatTargets, TARGET_TIMEFRAME, targetsOf } from './targets.ts'
import {
  DATA_FLAGS,
  DATA_HELP,
  dataSelection,
  givenModel,
  readFlags,
  runTraining,
  type TrainingPorts,
  UsageError,
} from './training-command.ts'

export const FIT_HELP = `Fits the model of this release's recipe on folders of candles, and writes it as JSON.

  npm run fit -- --data <folder> [--data <folder> …] [--out model.json] [--version barrier-5]
  npm run fit -- --refresh model.json --until 2026-04-01 --version barrier-5.2026q1 --data <folder> [--out new.json]

${DATA_HELP}
  --refresh FILE       estimates the offsets and the hours of the day of this model again, on two years up to --until,
                       and nothing else
  --out FILE           writes the model there; to the standard output without it
  --version NAME       the version of the model; barrier-5 without it`

const versionSchema = verdictModelSchema.shape.version

export interface FitPorts extends TrainingPorts {
  /** Writes a file whole or not at all; what cannot be written is refused before the text is asked for. */
  readonly writeFile: (path: string, text: AsyncIterable<string>) => Promise<unknown>
}

/**
 * Fits the model of this release's recipe on folders of candles and writes it as JSON, to a file or to the
 * standard output; what it scored goes to the progress. Answers the exit code.
 */
export function fitCommand(args: readonly string[], ports: FitPorts): Promise<number> {
  return runTraining(FIT_HELP, ports, async () => {
    const { report } = ports
    const flags = readFlags(args, {
      ...DATA_FLAGS,
      refresh: { type: 'string' },
      out: { type: 'string' },
      version: { type: 'string', default: 'barrier-5' },
    })
    const { version, out, refresh } = flags
    if (!versionSchema.safeParse(version).success)
      throw new UsageError(`--version ${version} is no version: small letters, digits, dots and hyphens`)
    const selection = dataSelection(flags, TIMEFRAMES)
    const former = refresh === undefined ? undefined : givenModel(ports, refresh)
    if (former !== undefined && (selection.until === undefined || version === former.version))
      throw new UsageError('--refresh needs --until, and a --version of its own')
    const refreshed = (model: VerdictModelData, until: number): Promise<VerdictModelData> => {
      const wanted = { ...selection, timeframes: refreshedTimeframes(model) }
      return refreshModel(model, version, ports.histories(wanted, { report, used: () => undefined }), until)
    }
    async function* fitted(): AsyncGenerator<string, void, void> {
      if (former !== undefined) {
        const model = await refreshed(former, selection.until ?? former.provenance.to)
        yield jsonText(model)
        reportRefresh(model, report)
        return
      }
      const used: UsedSeries[] = []
      const histories = ports.histories(selection, { report, used: (series) => used.push(series) })
      const model = fitModel(version, await prepare(histories, RECIPE, report), used, report)
      yield jsonText(await refreshed(model, model.provenance.to))
      reportModel(model, report)
    }
    if (out === undefined) for await (const text of fitted()) ports.out(text)
    else await ports.writeFile(out, fitted())
  })
}

function reportRefresh({ timeframes, hours }: VerdictModelData, report: TrainingPorts['report']): void {
  for (const timeframe of TIMEFRAMES) {
    const { closes, ...race } = timeframes[timeframe]
    const told = hours?.[timeframe]
    report(
      `${timeframe}: offset ${race.skill ? race.offset : 'none'}, closes ${closes?.skill ? closes.offset : 'none'}; hours ${told ? `${Math.min(...told)} to ${Math.max(...told)}` : 'none'}`,
    )
  }
}

function reportModel(model: VerdictModelData, report: TrainingPorts['report']): void {
  for (const timeframe of TIMEFRAMES) {
    const skill = model.timeframes[timeframe]
    const { closes } = skill
    report(`${timeframe}: ${skill.skill ? `speaks, slope ${skill.slope}` : `HOLD because ${skill.reason}`}`)
    report(
      `${timeframe} closes: ${closes?.skill ? `speaks, slope ${closes.slope}` : `silent because ${closes?.reason}`}`,
    )
  }
  const { measured } = model.timeframes[TARGET_TIMEFRAME]
  if (measured === undefined) return
  report(`Targets at ${TARGET_TIMEFRAME}, out of sample:`)
  for (const line of formatTargets(targetsOf({ all: measured, placeboAuc: measured.placeboAuc })))
    report(line)
}
