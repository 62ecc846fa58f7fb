import type { Logger } from 'pino'
import type { Projector } from '../log/projector/projector.ts'
import { type AppendDone, traceAppends } from '../log/trace-appends.ts'
import type { MarketFeed } from '../market/index.ts'
import type { Settings } from '../runtime/config/settings.ts'
import type { Tracing } from '../runtime/tracing/tracing.ts'
import { openFeed, requireKnownCoins } from './adapters/open-feed.ts'
import { type OnClose, openPlatform, type Platform, storeWait } from './adapters/open-platform.ts'
import { awaitReadModels, keepsReadModels, startProjections } from './adapters/start-projections.ts'
import { openTracing } from './adapters/tracing.ts'
import { type Console, createConsole } from './console.ts'
import { createServiceMetrics, type ServiceMetrics } from './metrics/service-metrics.ts'
import type { EngineRole } from './roles/engine-role.ts'
import type { OpenedPayments } from './roles/payments.ts'
import { type OpenedSpeech, openSpeech } from './roles/speech.ts'
import type { OpenedWebhooks } from './roles/webhooks.ts'

/** What the parts of a process share, once opened. */
export interface Deps {
  readonly settings: Settings
  readonly log: Logger
  readonly terminal: Console
  readonly platform: Platform
  readonly feed: MarketFeed
  readonly projector: Projector | undefined
  readonly speech: OpenedSpeech
  readonly metrics: ServiceMetrics
  readonly tracing: Tracing | undefined
  /** Filled in as they are opened. */
  readonly running: { engine?: EngineRole; payments?: OpenedPayments; webhooks?: OpenedWebhooks }
  /** Milliseconds, on a clock that is never set. */
  readonly openedAt: number
  /** Verdicts recorded by this process. */
  readonly counts: { recorded: number }
}

/** Opens the platform, the market and the read models of a process. */
export async function openDeps(
  settings: Settings,
  output: NodeJS.WriteStream,
  log: Logger,
  onClose: OnClose,
  version: string,
): Promise<Deps> {
  requireKnownCoins(settings)
  const isPaced = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const isOn = settings.CONSOLE !== 'off'
  const terminal = createConsole({
    isOn,
    showVerdicts: isPaced,
    showReasoning: settings.CONSOLE === 'reasons',
    output,
    now: Date.now,
  })
  const opened = await openPlatform(settings, log, onClose)
  const tracing = openTracing(settings, { version, processId: opened.processId }, log, onClose)
  const appended: { done: AppendDone } = { done: () => undefined }
  const platform: Platform = {
    ...opened,
    store: traceAppends(opened.store, {
      tracing,
      system: settings.EVENTSTORE_URL === undefined ? 'sqlite' : 'eventstoredb',
      done: (append) => appended.done(append),
      monotonic: () => performance.now(),
    }),
  }
  const feed = await openFeed(settings, platform, log, onClose)
  const projector = keepsReadModels(settings) ? startProjections(platform, log) : undefined
  if (projector !== undefined) {
    onClose(() => projector.close())
    // Whatever is opened from here on may ask a read model at once.
    await awaitReadModels(projector, storeWait(settings, log).waitMs)
  }
  const speech = await openSpeech(settings, platform, projector, log, onClose)
  const running: Deps['running'] = {}
  const metrics = createServiceMetrics({
    market: settings.MARKET,
    projections: () => projector?.health() ?? [],
    following: platform.following,
    archive: async () => (await platform.store.health()).archive,
    venues: () => feed.venues(),
    payments: () => running.payments?.totals(),
    settler: () => running.payments?.settler?.health(),
    refunds: () => running.payments?.refunds(),
    dispatcher: () => running.webhooks?.dispatcher?.health(),
    monitored: () => running.engine?.monitored() ?? [],
    dataAgeMs: () => {
      const newest = running.engine?.lastBarClose()
      return newest === undefined ? undefined : Math.max(0, feed.clock() - newest)
    },
  })
  appended.done = metrics.appended
  return {
    settings,
    log,
    terminal,
    platform,
    feed,
    projector,
    speech,
    metrics,
    tracing,
    running,
    openedAt: performance.now(),
    counts: { recorded: 0 },
  }
}
