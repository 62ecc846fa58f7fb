import { readFileSync } from 'node:fs'
import type { Accounts } from '../accounts/index.ts'
import type { ToolHandler } from '../engine/index.ts'
import type { Projector } from '../log/projector/projector.ts'
import { type AppendDone, timeAppends } from '../log/time-appends.ts'
import type { MarketFeed } from '../market/index.ts'
import type { CallPath } from '../tool-calls/index.ts'
import { openFeed, requireKnownCoins } from './adapters/open-feed.ts'
import { openPlatform, type Platform, storeWait } from './adapters/open-platform.ts'
import { awaitReadModels, keepsReadModels, startProjections } from './adapters/start-projections.ts'
import { type Console, createConsole } from './console.ts'
import type { Lifetime } from './lifetime.ts'
import { createServiceMetrics, type RunningParts, type ServiceMetrics } from './metrics/service-metrics.ts'
import { newestVerdicts } from './roles/newest-verdicts.ts'
import { type OpenedSpeech, openSpeech } from './roles/speech.ts'
import type { WatchList } from './roles/watch-list.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The parts that all roles of a process share. */
export interface Deps extends Lifetime {
  readonly version: string
  readonly terminal: Console
  readonly platform: Platform
  readonly feed: MarketFeed
  readonly projector: Projector | undefined
  readonly speech: OpenedSpeech
  readonly metrics: ServiceMetrics
  readonly running: RunningParts
  /** Milliseconds, on a clock that is never set. */
  readonly openedAt: number
  /** The address under which callers reach the service; without PUBLIC_URL it is known once the process listens. */
  readonly address: { url: string }
  readonly publicUrl: () => string
  /** Market time, Unix milliseconds. */
  readonly marketNow: () => number
}

/** The same, once it is known who calls and who answers tools. */
export interface CallerDeps extends Deps {
  readonly toolHandler: ToolHandler
  readonly accounts: Accounts
  readonly calls: CallPath
  /** Undefined without the engine role: then nobody here knows which exchanges are monitored. */
  readonly watchList: WatchList | undefined
}

/** Opens the platform, the market and the read models of a process. */
export async function openDeps(life: Lifetime, output: NodeJS.WriteStream): Promise<Deps> {
  const { settings, onClose } = life
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
  const opened = await openPlatform(life)
  const appended: { done: AppendDone } = { done: () => undefined }
  const store = timeAppends(opened.store, (append) => appended.done(append))
  const platform: Platform = { ...opened, store, basics: { ...opened.basics, store } }
  const feed = await openFeed(life, platform)
  const projector = keepsReadModels(settings) ? startProjections(life, platform) : undefined
  if (projector !== undefined) {
    onClose(() => projector.close())
    await awaitReadModels(projector, storeWait(life).waitMs)
  }
  const speech = await openSpeech(life, platform, projector)
  const running: Deps['running'] = {}
  const metrics = createServiceMetrics({ settings, feed, projector, running })
  appended.done = metrics.appended
  const address = { url: settings.PUBLIC_URL ?? '' }
  // A recorded market that is replayed elsewhere has no clock here; all of it lies in the past.
  const isReplayedElsewhere = settings.MARKET === 'recorded' && !settings.ROLES.includes('engine')
  return {
    ...life,
    version,
    terminal,
    platform,
    feed,
    projector,
    speech,
    metrics,
    running,
    openedAt: performance.now(),
    address,
    publicUrl: () => address.url,
    marketNow: isReplayedElsewhere ? Date.now : createMarketNow(feed, projector),
  }
}

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
