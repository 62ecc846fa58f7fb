import type { Logger } from 'pino'
import { TIMEFRAMES, type Timeframe } from '../../contracts/timeframes.ts'
import { SPEECH_PREFIX, type SpeechRow, speech } from '../../projections/index.ts'
import {
  createStandingOrders,
  loadModel,
  type StandingOrders,
  type VerdictModel,
  withdrawalReason,
} from '../engine/index.ts'
import { sleep } from '../platform/async/sleep.ts'
import type { Settings } from '../platform/config/settings.ts'
import type { Projector } from '../platform/projector/projector.ts'
import type { OnClose, Platform } from './open-platform.ts'
import { startProjections } from './start-projections.ts'

/** Who speaks where: the model, and what the log says of it. */
export interface OpenedSpeech {
  readonly model: VerdictModel
  readonly orders: StandingOrders
  /** How the models do at their timeframes; empty where this process has no use for it. */
  rows(): Iterable<SpeechRow>
  /** Why calls at a timeframe are withdrawn at an instant of market time; undefined where they are not. */
  withdrawn(timeframe: Timeframe, at: number): string | undefined
  /** The timeframes at which they are, in a sentence; empty where nowhere. */
  note(at: number): string
}

/** Rows read at a time: eleven a model. */
const PAGE_ROWS = 500

/** @param projector of the read models of this process; who computes without any keeps the one that it needs */
export async function openSpeech(
  settings: Settings,
  platform: Platform,
  projector: Projector | undefined,
  log: Logger,
  onClose: OnClose,
): Promise<OpenedSpeech> {
  const model = loadModel()
  const ending = new AbortController()
  const orders = createStandingOrders({
    store: platform.store,
    models: [model.version],
    sleep,
    onFailure: (reason) => log.warn({ reason }, 'what is withdrawn and restored cannot be followed just now'),
  })
  await orders.load()
  const following = orders.follow(ending.signal)
  const isAlone = projector === undefined && settings.ROLES.includes('engine')
  const own = isAlone ? startProjections(platform, log, [speech]) : projector
  onClose(async () => {
    ending.abort()
    await following
    if (isAlone) await own?.close()
  })
  const withdrawalAt = (timeframe: Timeframe, at: number) => orders.withdrawal(model.version, timeframe, at)
  return {
    model,
    orders,
    *rows() {
      if (own === undefined) return
      const reader = own.reader(speech)
      for (let after = ''; ; ) {
        const page = reader.range({ prefix: SPEECH_PREFIX, limit: PAGE_ROWS, ...(after && { after }) })
        for (const { row } of page) yield row as SpeechRow
        if (page.length < PAGE_ROWS) return
        after = page.at(-1)?.key ?? ''
      }
    },
    withdrawn(timeframe, at) {
      const change = withdrawalAt(timeframe, at)
      return change && withdrawalReason(change)
    },
    note(at) {
      if (!orders.hasChanges()) return ''
      const silent = TIMEFRAMES.filter((timeframe) => withdrawalAt(timeframe, at) !== undefined)
      return silent.length === 0
        ? ''
        : `For now the answer is HOLD at ${silent.join(', ')}, too, where the forecasts have ranked worse than chance.`
    },
  }
}
