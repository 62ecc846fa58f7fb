import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Json } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { toolNamed } from '../../contracts/tools/tool-catalogue.ts'
import { followVerdicts, replayVerdicts } from '../analyst/index.ts'
import { createRateLimits, createServer, readinessOf } from '../api/index.ts'
import { createRemoteDesk, type Desk, type EngineRun, serveDesk } from '../engine/index.ts'
import type { MarketFeed } from '../market/index.ts'
import { sleep } from '../platform/async/sleep.ts'
import type { Settings } from '../platform/config/settings.ts'
import { createLog } from '../platform/log/log.ts'
import type { Projector } from '../platform/projector/projector.ts'
import { accountOptions } from './account-options.ts'
import { bannerLines, summaryLines } from './announcements.ts'
import { type Callers, openCallers } from './callers.ts'
import { componentsOf } from './components.ts'
import { type Console, createConsole } from './console.ts'
import { createEngineRole, type EngineRole } from './engine-role.ts'
import { createMarketNow } from './market-now.ts'
import { createMarketsSource } from './markets-source.ts'
import { mcpOptions } from './mcp-options.ts'
import { newestVerdicts } from './newest-verdicts.ts'
import { openFeed } from './open-feed.ts'
import { type OnClose, openPlatform, type Platform } from './open-platform.ts'
import { type OwnerSocket, openOwnerSocket } from './owner-socket.ts'
import { readModelAnswers } from './read-models.ts'
import { closeServer, listen } from './serve.ts'
import { createServiceMetrics, type ServiceMetrics } from './service-metrics.ts'
import { keepsReadModels, startProjections } from './start-projections.ts'
import { openWatchList, staleAfterMs, type WatchList } from './watch-list.ts'

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

/** Standard error is the operator's; a log that is shipped elsewhere is not the place for codes. */
const showOperator = (line: string): void => void process.stderr.write(`${line}\n`)

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
  /** Verdicts recorded by this process. */
  readonly counts: { recorded: number }
}

async function compose(
  settings: Settings,
  output: NodeJS.WriteStream,
  log: Logger,
  onClose: OnClose,
): Promise<Omit<RunningService, 'stop'>> {
  const parts = await openParts(settings, output, log, onClose)
  const { feed, people, platform } = parts
  const watchList = settings.ROLES.includes('engine') ? await openWatchList(feed, settings, sleep) : undefined
  const ending = new AbortController()
  const address = { url: settings.PUBLIC_URL ?? '' }
  const engine = watchList && createEngine(parts, watchList, address, ending.signal)
  const desk = engine?.desk ?? createRemoteDesk(platform.bus)
  const callers = openCallers(
    { ...parts, desk, version, publicUrl: () => address.url, show: showOperator },
    onClose,
  )
  const app = await createHttpServer(parts, { desk, callers, watchList, address })
  const owner: { socket?: OwnerSocket | undefined } = {}
  // Before anything listens, so that what cannot start does not go on answering.
  onClose(async () => {
    ending.abort()
    // Together: neither waits for the other, and callers are turned away from the first moment.
    await Promise.all([closeServer(app), owner.socket?.close(), engine?.ended()])
  })
  const url = settings.ROLES.includes('api') ? await listen(app, settings) : undefined
  address.url = url ?? address.url
  owner.socket = await openOwnerSocket(app, platform.directory, log)
  people.banner(
    bannerLines({ version, settings, platform: platform.summary, monitoring: watchList?.describe(), url }),
  )
  if (engine === undefined) return { url, marketEnd: Promise.resolve(undefined) }
  serveDesk(platform.bus, engine.desk, ending.signal)
  return { url, marketEnd: followMarket(parts, engine, url, ending.signal) }
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
  const feed = await openFeed(settings, platform, log, onClose)
  const projector = keepsReadModels(settings) ? startProjections(platform, log) : undefined
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
  return { settings, log, people, platform, feed, projector, metrics, running, counts: { recorded: 0 } }
}

function createHttpServer(
  parts: Parts,
  behind: {
    readonly desk: Desk
    readonly callers: Callers
    readonly watchList: WatchList | undefined
    readonly address: { readonly url: string }
  },
) {
  const { desk, callers, watchList, address } = behind
  const { settings, log, platform, feed, projector, metrics, running } = parts
  const answers = readModelAnswers(platform.store, projector)
  // A recorded market that is replayed elsewhere has no clock here; all of it lies in the past.
  const isReplayedElsewhere = settings.MARKET === 'recorded' && !settings.ROLES.includes('engine')
  return createServer({
    log,
    version,
    market: settings.MARKET,
    metrics: metrics.registry,
    newId: platform.newId,
    operatorToken: settings.OPERATOR_TOKEN,
    publicUrl: () => address.url,
    trustProxy: settings.TRUST_PROXY,
    rateLimits: createRateLimits({
      perAddress: settings.RATE_PER_ADDRESS,
      perKey: settings.RATE_PER_KEY,
      // A cache that is this process's own would count a second time what is counted already.
      shared: settings.REDIS_URL === undefined ? undefined : platform.cache,
      now: () => performance.now(),
      report: (fault) => log.warn({ err: fault }, 'rate limits'),
    }),
    markets: createMarketsSource({ feed, projector, running, watchList }),
    marketNow: isReplayedElsewhere ? Date.now : createMarketNow(feed, projector),
    readiness: async () =>
      readinessOf(
        await componentsOf({
          platform,
          projector,
          engine: running.engine,
          feed,
          staleAfterMs: staleAfterMs(settings),
        }),
      ),
    ...answers,
    usage: callers.usage,
    accounts: accountOptions({ platform, log }, callers),
    mcp: mcpOptions(settings, callers, platform.deriveSecret, {
      version,
      market: settings.MARKET,
      exchanges: () => watchList?.exchanges ?? [],
      publicUrl: () => address.url,
      trackRecord() {
        const { asOf, rows } = answers.trackRecord({ groupBy: 'timeframe', limit: LIMITS.trackRecordRows })
        return { as_of: asOf, rows: rows as unknown as Json }
      },
    }),
    replay: (options) => replayVerdicts(platform.store, options),
    follow: (options) => followVerdicts(platform.store, { ...options, sleep }),
    answerTool: (tool, request) => desk.answer(toolNamed(tool), request),
  })
}

/** How often a market that has an end says how far it has come. */
const PROGRESS_EVERY_MS = 200

/** The engine, with its lines for people and its numbers for machines. */
function createEngine(
  parts: Parts,
  watchList: WatchList,
  address: { readonly url: string },
  signal: AbortSignal,
): EngineRole {
  const { settings, platform, feed, log, people, projector, metrics, running, counts } = parts
  running.engine = createEngineRole({
    settings,
    platform,
    feed,
    watchList,
    newestVerdicts: projector && (() => newestVerdicts(projector)),
    log,
    signal,
    publicUrl: () => address.url,
    onTrouble: (code) => metrics.appendTrouble(code),
    onLabelled: (outcomes) => metrics.outcomesLabelled(outcomes),
    onRecorded(verdicts) {
      counts.recorded += verdicts.length
      metrics.verdictsRecorded(verdicts)
      people.verdicts(verdicts)
    },
  })
  return running.engine
}

/** Follows the market to its end, and says how far it has come and what came of it. */
async function followMarket(
  { feed, people, settings, counts }: Parts,
  engine: EngineRole,
  url: string | undefined,
  signal: AbortSignal,
): Promise<EngineRun> {
  const started = performance.now()
  const ticking = setInterval(() => {
    const progress = feed.progress()
    if (progress !== undefined) people.progress(progress, counts.recorded)
  }, PROGRESS_EVERY_MS)
  try {
    const run = await engine.start()
    if (signal.aborted) return run
    const progress = feed.progress()
    if (progress !== undefined) people.progress({ ...progress, barsDone: progress.barsTotal }, run.recorded)
    const seconds = (performance.now() - started) / 1_000
    const servedAt = settings.EXIT_AT_END ? undefined : url
    people.summary(summaryLines({ run, calls: engine.calls(), seconds, url: servedAt }))
    return run
  } finally {
    clearInterval(ticking)
  }
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
