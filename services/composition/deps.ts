import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Accounts } from '../accounts/index.ts'
import type { ToolHandler } from '../engine/index.ts'
import type { Projector } from '../log/projector/projector.ts'
import { type AppendDone, traceAppends } from '../log/trace-appends.ts'
import type { MarketFeed } from '../market/index.ts'
import type { PaymentTotals, RefundHealth, Settler } from '../payments/index.ts'
import type { Settings } from '../runtime/config/settings.ts'
import type { Tracing } from '../runtime/tracing/tracing.ts'
import type { CallPath } from '../tool-calls/index.ts'
import type { Dispatcher } from '../webhooks/index.ts'
import { openFeed, requireKnownCoins } from './adapters/open-feed.ts'
import { type OnClose, openPlatform, type Platform, storeWait } from './adapters/open-platform.ts'
import { awaitReadModels, keepsReadModels, startProjections } from './adapters/start-projections.ts'
import { openTracing } from './adapters/tracing.ts'
import { type Console, createConsole } from './console.ts'
import { createServiceMetrics, type ServiceMetrics } from './metrics/service-metrics.ts'
import type { EngineRole } from './roles/engine-role.ts'
import { newestVerdicts } from './roles/newest-verdicts.ts'
import { type OpenedSpeech, openSpeech } from './roles/speech.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The parts that all roles of a process share. */
export interface Deps {
  readonly settings: Settings
  readonly version: string
  readonly log: Logger
  readonly terminal: Console
  readonly platform: Platform
  readonly feed: MarketFeed
  readonly projector: Projector | undefined
  readonly speech: OpenedSpeech
  readonly metrics: ServiceMetrics
  readonly tracing: Tracing | undefined
  /** Filled in as they are opened. */
  readonly running: {
    engine?: EngineRole
    payments?: {
      totals(): PaymentTotals | undefined
      refunds(): RefundHealth | undefined
      readonly settler: Pick<Settler, 'health'> | undefined
    }
    webhooks?: { readonly dispatcher: Pick<Dispatcher, 'health'> | undefined }
  }
  /** Milliseconds, on a clock that is never set. */
  readonly openedAt: number
  /** Verdicts recorded by this process. */
  readonly counts: { recorded: number }
  /** The address under which callers reach the service; without PUBLIC_URL it is known once the process listens. */
  readonly address: { url: string }
  readonly publicUrl: () => string
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
  readonly onClose: OnClose
  /** Aborted when the process begins to end. */
  readonly signal: AbortSignal
}

/** The same, once it is known who calls and who answers tools. */
export interface CallerDeps extends Deps {
  readonly toolHandler: ToolHandler
  readonly accounts: Accounts
  readonly calls: CallPath
}

/** Opens the platform, the market and the read models of a process. */
export async function openDeps(
  settings: Settings,
  output: NodeJS.WriteStream,
  log: Logger,
  onClose: OnClose,
  signal: AbortSignal,
): Promise<Deps> {
  requireKnownCoins(settings)
  const isPaced = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const isOn = settings.CONSOLE === 'on'
  const terminal = createConsole({ isOn, showVerdicts: isPaced, output, now: Date.now })
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
    // Each part that is opened after this may ask a read model at once.
    await awaitReadModels(projector, storeWait(settings, log).waitMs)
  }
  const speech = await openSpeech(settings, platform, projector, log, onClose)
  const running: Deps['running'] = {}
  const metrics = openMetrics({ settings, platform, feed, projector, running })
  appended.done = metrics.appended
  const address = { url: settings.PUBLIC_URL ?? '' }
  // A recorded market that is replayed elsewhere has no clock here; all of it lies in the past.
  const isReplayedElsewhere = settings.MARKET === 'recorded' && !settings.ROLES.includes('engine')
  return {
    settings,
    version,
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
    address,
    publicUrl: () => address.url,
    marketNow: isReplayedElsewhere ? Date.now : createMarketNow(feed, projector),
    onClose,
    signal,
  }
}

const openMetrics = ({
  settings,
  platform,
  feed,
  projector,
  running,
}: Pick<Deps, 'settings' | 'platform' | 'feed' | 'projector' | 'running'>): ServiceMetrics =>
  createServiceMetrics({
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

/**
 * Market time for readers: never earlier than it was before in this process, nor, in a recorded market, than the newest
 * bar in the log. A replay that starts over would otherwise hide verdicts that were shown.
 */
function createMarketNow(feed: MarketFeed, projector: Projector | undefined): () => number {
  let latest = Number.NEGATIVE_INFINITY
  return () => {
    latest = Math.max(latest, feed.clock())
    if (feed.kind === 'recorded' && projector !== undefined)
      for (const { barClose } of newestVerdicts(projector)) latest = Math.max(latest, barClose)
    return latest
  }
}
