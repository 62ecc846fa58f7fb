import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Verdict } from '../../contracts/verdict.ts'
import { replayVerdicts } from '../analyst/index.ts'
import { createServer, readinessOf } from '../api/index.ts'
import type { EngineRun } from '../engine/index.ts'
import type { MarketFeed } from '../market/index.ts'
import type { Settings } from '../platform/config/settings.ts'
import { createLog } from '../platform/log/log.ts'
import type { Projector } from '../platform/projector/projector.ts'
import { bannerLines, summaryLines } from './announcements.ts'
import { componentsOf } from './components.ts'
import { type Console, createConsole } from './console.ts'
import { createMarketNow } from './market-now.ts'
import { chooseSeries, openFeed } from './open-feed.ts'
import { type OnClose, openPlatform, type Platform } from './open-platform.ts'
import { type EngineRole, startEngine, startProjections } from './run-roles.ts'
import { closeServer, listen } from './serve.ts'
import { createServiceMetrics, type ServiceMetrics } from './service-metrics.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** A service that runs, and how to end it. */
export interface RunningService {
  /** Where it answers; undefined without the api role. */
  readonly url: string | undefined
  /** Settles when the market ends; rejects when the service cannot go on. */
  readonly marketEnd: Promise<EngineRun | undefined>
  /** Stops accepting, finishes what is in flight, and closes everything. Safe to call twice. */
  stop(): Promise<void>
}

/**
 * Composes and starts the service: settings choose the adapters and the roles.
 *
 * @throws ServiceError for everything that keeps it from starting; what was opened by then is closed again.
 * @example const service = await startService(readSettings([], process.env), process.stdout)
 */
export async function startService(settings: Settings, output: NodeJS.WriteStream): Promise<RunningService> {
  const log = createLog(settings.LOG_LEVEL)
  const closers: (() => Promise<void>)[] = []
  const onClose = (close: () => Promise<void>): void => void closers.unshift(close)
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= closeAll(closers, log))
  try {
    return { ...(await compose(settings, output, log, onClose)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What the parts of a process share, once opened. */
interface Parts {
  readonly settings: Settings
  readonly log: Logger
  readonly people: Console
  readonly platform: Platform
  readonly feed: MarketFeed
  readonly projector: Projector | undefined
  readonly metrics: ServiceMetrics
  /** Filled in when the engine starts. */
  readonly running: { engine?: EngineRole }
}

async function compose(
  settings: Settings,
  output: NodeJS.WriteStream,
  log: Logger,
  onClose: OnClose,
): Promise<Omit<RunningService, 'stop'>> {
  const parts = await openParts(settings, output, log, onClose)
  const { feed, people, platform } = parts
  const series = settings.ROLES.includes('engine') ? await chooseSeries(feed, settings) : []
  const app = await createHttpServer(parts)
  const url = settings.ROLES.includes('api') ? await listen(app, settings) : undefined
  people.banner(bannerLines({ version, settings, platform: platform.summary, series, url }))

  const ending = new AbortController()
  const started = performance.now()
  const engine = series.length > 0 ? followMarket(parts, series, ending.signal) : undefined
  onClose(async () => {
    ending.abort()
    // Together: neither waits for the other, and callers are turned away from the first moment.
    await Promise.all([closeServer(app), engine?.settled])
  })
  if (engine === undefined) return { url, marketEnd: Promise.resolve(undefined) }
  const marketEnd = engine.done.then((run) => {
    const progress = feed.progress()
    if (ending.signal.aborted) return run
    if (progress !== undefined) people.progress({ ...progress, barsDone: progress.barsTotal }, run.recorded)
    const seconds = (performance.now() - started) / 1_000
    const servedAt = settings.EXIT_AT_END ? undefined : url
    people.summary(summaryLines({ run, calls: engine.calls(), seconds, url: servedAt }))
    return run
  })
  return { url, marketEnd }
}

async function openParts(
  settings: Settings,
  output: NodeJS.WriteStream,
  log: Logger,
  onClose: OnClose,
): Promise<Parts> {
  const isPaced = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const isOn = settings.CONSOLE === 'on'
  const people = createConsole({ isOn, showVerdicts: isPaced, output, now: Date.now })
  const platform = await openPlatform(settings, log, onClose)
  const feed = await openFeed(settings, platform, onClose)
  const projector = settings.ROLES.includes('projector') ? startProjections(platform, log) : undefined
  if (projector !== undefined) onClose(() => projector.close())
  const running: Parts['running'] = {}
  const metrics = createServiceMetrics({
    market: settings.MARKET,
    projections: () => projector?.health() ?? [],
    dataAgeMs: () => {
      const newest = running.engine?.lastBarClose()
      return newest === undefined ? undefined : Math.max(0, feed.clock() - newest)
    },
  })
  return { settings, log, people, platform, feed, projector, metrics, running }
}

function createHttpServer(parts: Parts) {
  const { settings, log, platform, feed, projector, metrics, running } = parts
  // A recorded market that is replayed elsewhere has no clock here; all of it lies in the past.
  const isReplayedElsewhere = settings.MARKET === 'recorded' && !settings.ROLES.includes('engine')
  return createServer({
    log,
    version,
    market: settings.MARKET,
    metrics: metrics.registry,
    newId: platform.newId,
    operatorToken: settings.OPERATOR_TOKEN,
    marketNow: isReplayedElsewhere ? Date.now : createMarketNow(feed, projector),
    readiness: async () =>
      readinessOf(await componentsOf({ platform, projector, engine: running.engine, feed })),
    replay: (options) => replayVerdicts(platform.store, options),
  })
}

/** How often a market that has an end says how far it has come. */
const PROGRESS_EVERY_MS = 200

/** Starts the engine, with its lines for people. `settled` resolves when it has ended, however it did. */
function followMarket(
  parts: Parts,
  series: Parameters<typeof startEngine>[0]['series'],
  signal: AbortSignal,
): EngineRole & { readonly settled: Promise<void> } {
  const { platform, feed, log, people, metrics, running } = parts
  let recorded = 0
  const engine = startEngine({
    platform,
    feed,
    series,
    log,
    signal,
    onTrouble: (code) => metrics.appendTrouble(code),
    onRecorded(verdicts: readonly Verdict[]) {
      recorded += verdicts.length
      metrics.verdictsRecorded(verdicts)
      people.verdicts(verdicts)
    },
  })
  running.engine = engine
  const ticking = setInterval(() => {
    const progress = feed.progress()
    if (progress !== undefined) people.progress(progress, recorded)
  }, PROGRESS_EVERY_MS)
  const end = (): void => clearInterval(ticking)
  return { ...engine, settled: engine.done.then(end, end) }
}

/** Closes in reverse order of opening; one that fails does not keep the others open. */
async function closeAll(closers: readonly (() => Promise<void>)[], log: Logger): Promise<void> {
  for (const close of closers) {
    try {
      await close()
    } catch (error) {
      log.error({ err: error }, 'closing failed')
    }
  }
}
