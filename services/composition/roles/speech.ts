import { ServiceError } from '../../../contracts/errors.ts'
import type { ModelFile } from '../../../contracts/proof-events.ts'
import { SPOKEN_TIMEFRAMES } from '../../../contracts/spoken-timeframes.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import { SPEECH_PREFIX, type SpeechRow, speech } from '../../../projections/index.ts'
import {
  createStandingOrders,
  loadModel,
  modelFile,
  type VerdictModel,
  withdrawalReason,
} from '../../engine/index.ts'
import type { Projector } from '../../log/projector/projector.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Platform } from '../adapters/open-platform.ts'
import { startProjections } from '../adapters/start-projections.ts'
import type { Lifetime } from '../lifetime.ts'
import { allRows } from './newest-verdicts.ts'

export interface LoadedModel {
  readonly model: VerdictModel
  readonly file: ModelFile
}

export type OpenedSpeech = Awaited<ReturnType<typeof openSpeech>>

/**
 * The models, and which of them speaks at which timeframe, as the log says.
 *
 * @param projector of the read models of this process; an engine without read models keeps the one that it needs
 */
export async function openSpeech(life: Lifetime, platform: Platform, projector: Projector | undefined) {
  const { settings, log, closing, onClose } = life
  const models = loadModels(settings.MODEL_FILES ?? [])
  const orders = createStandingOrders({
    store: platform.store,
    models: models.map(({ model }) => model.version),
    sleep,
    onFailure: (reason) => log.warn({ reason }, 'what is withdrawn and restored cannot be followed just now'),
  })
  await orders.load()
  const following = orders.follow(closing)
  const isAlone = projector === undefined && settings.ROLES.includes('engine')
  const own = isAlone ? startProjections(life, platform, [speech]) : projector
  onClose(async () => {
    await following
    if (isAlone) await own?.close()
  })
  const toldMissing = new Set<string>()
  function champion(at: number): VerdictModel {
    const chosen = orders.chosen(at)
    const found = models.find(
      ({ file }) => file.modelVersion === chosen?.modelVersion && file.sha256 === chosen.sha256,
    )
    if (found === undefined && chosen !== undefined && !toldMissing.has(chosen.sha256)) {
      toldMissing.add(chosen.sha256)
      log.error(
        { ...chosen, instead: models[0].model.version },
        'the model that was chosen is not here: name its file in MODEL_FILES, or choose another',
      )
    }
    return (found ?? models[0]).model
  }
  const withdrawalAt = (timeframe: Timeframe, at: number) =>
    orders.withdrawal(champion(at).version, timeframe, at)
  return {
    /** The one of this release, then those that the settings name. */
    models,
    /**
     * The model that speaks of bars that close at an instant: the one that the operator chose, where its very file is
     * here, else the one of this release.
     */
    champion,
    orders,
    /** The scores of the models at their timeframes; empty where this process does not need them. */
    rows: () => (own === undefined ? [] : allRows(own.reader(speech), SPEECH_PREFIX)) as Iterable<SpeechRow>,
    /** Why calls at a timeframe are withdrawn at an instant of market time; undefined where they are not. */
    withdrawn(timeframe: Timeframe, at: number) {
      const change = withdrawalAt(timeframe, at)
      return change && withdrawalReason(change)
    },
    /** The timeframes at which they are, in a sentence; empty where nowhere. */
    note(at: number) {
      const { timeframes, version } = champion(at)
      if (!orders.hasChanges() && version === models[0].model.version) return ''
      const silent = SPOKEN_TIMEFRAMES.filter(
        (timeframe) => !timeframes[timeframe].skill || withdrawalAt(timeframe, at) !== undefined,
      )
      return silent.length === 0
        ? ''
        : `For now the answer is HOLD at ${silent.join(', ')}, too, where the model that speaks has not shown skill of late.`
    },
  }
}

/** @throws ServiceError `config_invalid` for a file that is none of this release, or a version that is there twice */
function loadModels(files: readonly string[]): [LoadedModel, ...LoadedModel[]] {
  const models: [LoadedModel, ...LoadedModel[]] = [{ model: loadModel(), file: modelFile() }]
  for (const path of files) {
    const model = loadModel(path)
    if (models.some((other) => other.model.version === model.version)) {
      throw new ServiceError('config_invalid', {
        message: `MODEL_FILES: the model in ${path} has the version ${model.version}, which another one has; give it a version of its own.`,
      })
    }
    models.push({ model, file: modelFile(path) })
  }
  return models
}
