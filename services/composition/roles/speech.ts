import { CALLING_TIMEFRAMES } from '../../../contracts/calling-timeframes.ts'
import type { Timeframe } from '../../../contracts/timeframes.ts'
import { SPEECH_PREFIX, type SpeechRow, speech } from '../../../projections/index.ts'
import { createStandingOrders, loadModel, modelFile, withdrawalReason } from '../../engine/index.ts'
import type { Projector } from '../../log/projector/projector.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import type { Platform } from '../adapters/open-platform.ts'
import { startProjections } from '../adapters/start-projections.ts'
import type { Lifetime } from '../lifetime.ts'
import { allRows } from './newest-verdicts.ts'

export type OpenedSpeech = Awaited<ReturnType<typeof openSpeech>>

/**
 * The model, and the timeframes at which its calls are withdrawn, as the log says.
 *
 * @param projector of the read models of this process; an engine without read models keeps the one that it needs
 */
export async function openSpeech(life: Lifetime, platform: Platform, projector: Projector | undefined) {
  const { settings, log, closing, onClose } = life
  const model = loadModel()
  const orders = createStandingOrders({
    store: platform.store,
    modelVersion: model.version,
    sleep,
    onFailure: (reason) => log.warn({ reason }, 'withdrawals of calls cannot be read; reading again'),
  })
  await orders.load()
  const following = orders.follow(closing)
  const isAlone = projector === undefined && settings.ROLES.includes('engine')
  const own = isAlone ? startProjections(life, platform, [speech]) : projector
  onClose(async () => {
    await following
    if (isAlone) await own?.close()
  })
  return {
    model,
    /** The identity of the model's file. */
    file: modelFile(),
    orders,
    /** The scores of the model at its timeframes; empty if this process keeps no read models. */
    rows: () => (own === undefined ? [] : allRows(own.reader(speech), SPEECH_PREFIX)) as Iterable<SpeechRow>,
    /** Why calls at a timeframe are withdrawn at an instant of market time; undefined if they are not. */
    withdrawn(timeframe: Timeframe, at: number) {
      const change = orders.withdrawal(timeframe, at)
      return change && withdrawalReason(change)
    },
    /** The timeframes at which calls are withdrawn, in a sentence; empty if there are none. */
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
