import { CALLING_TIMEFRAMES } from '../../../contracts/calling-timeframes.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import { SPEECH_PREFIX, type SpeechRow, speech } from '../../../projections/index.ts'
import { createStandingOrders, loadModel, modelFile, withdrawalReason } from '../../engine/index.ts'
import type { Projector } from '../../log/projector/projector.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Platform } from '../adapters/open-platform.ts'
import { startProjector } from '../adapters/start-projector.ts'
import type { Start } from '../shutdown.ts'
import { allRows } from './newest-verdicts.ts'

export type OpenedSpeech = Awaited<ReturnType<typeof openSpeech>>

/**
 * The model, and the timeframes at which its calls are suspended, as the log says.
 *
 * @param projector of the read models of this process; an engine without read models keeps the one that it needs
 */
export async function openSpeech(start: Start, platform: Platform, projector: Projector | undefined) {
  const { settings, log, shutdown } = start
  const model = loadModel()
  const orders = createStandingOrders({
    store: platform.store,
    modelVersion: model.version,
    sleep,
    onFailure: (reason) => log.warn({ reason }, 'suspensions of calls cannot be read; reading again'),
  })
  await orders.load()
  const following = orders.follow(shutdown.stopSignal)
  const isAlone = projector === undefined && settings.ROLES.includes('engine')
  const rows = isAlone ? startProjector(start, platform, [speech]) : projector
  shutdown.onClose(async () => {
    await following
    if (isAlone) await rows?.close()
  })
  return {
    model,
    /** The identity of the model's file. */
    file: modelFile(),
    /** The scores of the model at its timeframes; empty if this process keeps no read models. */
    rows: () =>
      (rows === undefined ? [] : allRows(rows.reader(speech), SPEECH_PREFIX)) as Iterable<SpeechRow>,
    /** Why calls at a timeframe are suspended at an instant of market time; undefined if they are not. */
    withdrawn(timeframe: Timeframe, at: number) {
      const change = orders.withdrawal(timeframe, at)
      return change && withdrawalReason(change)
    },
    /** The timeframes at which calls are suspended, in a sentence; empty if there are none. */
    note(at: number) {
      const withdrawn = CALLING_TIMEFRAMES.filter(
        (timeframe) => orders.withdrawal(timeframe, at) !== undefined,
      )
      return withdrawn.length === 0
        ? ''
        : `Calls at ${withdrawn.join(', ')} are withdrawn at the moment, so the answer there is HOLD.`
    },
  }
}
