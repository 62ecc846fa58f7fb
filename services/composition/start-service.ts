import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { NEWEST_LOG_FORMAT } from '../../contracts/event-catalogue.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import type { Json } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { toolNamed } from '../../contracts/tools/tool-catalogue.ts'
import { followVerdicts, type ReplaySource, seriesHistory } from '../analyst/index.ts'
import { type EngineRun, type RemoteToolHandler, serveTools, type ToolHandler } from '../engine/index.ts'
import { createRateLimits } from '../http/rate-limits.ts'
import { type ProcessFacts, readinessOf } from '../http/readiness.ts'
import { sleep } from '../runtime/async/sleep.ts'
import type { Settings } from '../runtime/config/settings.ts'
import { createLog } from '../runtime/logging/log.ts'
import { rankAt } from '../webhooks/index.ts'
import { accountOptions } from './account-options.ts'
import type { OnClose } from './adapters/open-platform.ts'
import { openReplays } from './adapters/open-replays.ts'
import { type OwnerSocket, openOwnerSocket } from './adapters/owner-socket.ts'
import { adapterHealth, componentsOf, runsOn } from './components.ts'
import { mcpOptions } from './mcp-options.ts'
import { type CallerServices, openCallerServices, runCallerServices } from './open-caller-services.ts'
import { type Deps, openDeps } from './open-deps.ts'
import { openRemoteToolHandler } from './remote-tool-handler.ts'
import { bannerLines, headerLines, summaryLines } from './roles/announcements.ts'
import { createBars } from './roles/bars.ts'
import { createEngineRole, type EngineRole } from './roles/engine-role.ts'
import { createMarketsSource } from './roles/markets-source.ts'
import { modelAdmin } from './roles/model-admin.ts'
import { newestVerdicts } from './roles/newest-verdicts.ts'
import { openBoard, readModelAnswers } from './roles/read-models.ts'
import { openWatchList, staleAfterMs, type WatchList } from './roles/watch-list.ts'
import { addressWarning, closeServer, type ListeningServer, listen, listenForHealth } from './serve.ts'
import { createServer } from './server.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** A service that runs, and how to end it. */
export interface RunningService {
  /** Where it answers; undefined without the api role. */
  readonly url: string | undefined
  /** Settles when the market ends; rejects when the service cannot go on. */
  readonly marketEnd: Promise<EngineRun | undefined>
  /** Rejects when something has ended that should go on for as long as the service; never settles otherwise. */
  readonly failure: Promise<never>
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

async function compose(
  settings: Settings,
  output: NodeJS.WriteStream,
  log: Logger,
  onClose: OnClose,
): Promise<Omit<RunningService, 'stop'>> {
  const deps = await openDeps(settings, output, log, onClose, version)
  const { feed, terminal, platform } = deps
  const watchList = settings.ROLES.includes('engine')
    ? await openWatchList(feed, settings, sleep, {
        lacking: (exchange, coins) =>
          log.warn({ exchange, coins }, 'COINS that the venue does not list, or not among its largest'),
        left: (exchange, coins) =>
          log.info({ exchange, coins }, 'coins that are not chosen any more, and are followed on for now'),
      })
    : undefined
  const ending = new AbortController()
  const address = { url: settings.PUBLIC_URL ?? '' }
  const engine = watchList && createEngine(deps, watchList, address, ending.signal)
  const remote = openRemoteToolHandler(deps, () => address.url)
  const toolHandler = engine?.toolHandler ?? remote
  const callerServices = await openCallerServices(
    deps,
    { toolHandler, watchList, publicUrl: () => address.url, version },
    onClose,
  )
  const replay = openReplays(settings, platform, onClose)
  const app = await createHttpServer(deps, {
    toolHandler,
    remote,
    callerServices,
    watchList,
    address,
    replay,
    signal: ending.signal,
  })
  const owner: { socket?: OwnerSocket | undefined; health?: ListeningServer | undefined } = {}
  let working: Promise<void> = Promise.resolve()
  // Before anything listens, so that what cannot start does not go on answering.
  onClose(async () => {
    ending.abort()
    // Together: neither waits for the other, and callers are turned away from the first moment.
    await Promise.all([
      closeServer(app),
      owner.health?.close(),
      owner.socket?.close(),
      engine?.ended(),
      working.catch(reported),
    ])
  })
  const url = settings.ROLES.includes('api') ? await listen(app, settings) : undefined
  address.url = url ?? address.url
  const warning = addressWarning(settings, url)
  if (warning !== undefined) log.warn({ HOST: settings.HOST }, warning)
  owner.health = await listenForHealth(app, settings)
  owner.socket = await openOwnerSocket(app, platform.directory, log)
  const looking = engine === undefined ? remote.run(ending.signal) : undefined
  working = Promise.all([runCallerServices(callerServices, ending.signal), looking]).then(() => undefined)
  const failure = Promise.race([
    working.then(() => new Promise<never>(() => undefined)),
    platform.storeFailure,
  ])
  // Whoever waits for it is told; nobody does while the service is still starting.
  failure.catch(reported)
  const monitoring = watchList?.describe()
  const { demo } = callerServices.payments
  const on = { platform: platform.summary, runsOn: runsOn(await adapterHealth(platform)) }
  const lines = bannerLines({ version, settings, ...on, monitoring, demo, url })
  terminal.banner(
    lines,
    url === undefined ? undefined : `signal-service ${version} at ${url}`,
    url === undefined ? [] : headerLines(url),
  )
  if (engine === undefined) return { url, failure, marketEnd: Promise.resolve(undefined) }
  serveTools(platform.bus, engine.toolHandler, { name: platform.processId, signal: ending.signal })
  return { url, failure, marketEnd: followMarket(deps, engine, url, ending.signal) }
}

/** `RunningService.failure` tells of it. */
const reported = (): void => undefined

interface Opened {
  readonly toolHandler: ToolHandler
  /** What asks other processes, where this one does not compute. */
  readonly remote: RemoteToolHandler
  readonly callerServices: CallerServices
  readonly watchList: WatchList | undefined
  readonly address: { readonly url: string }
  readonly replay: ReplaySource
  readonly signal: AbortSignal
}

async function createHttpServer(deps: Deps, opened: Opened) {
  const { toolHandler, callerServices, watchList, address, replay } = opened
  const { callers, payments, webhooks, knowledge, transparencyLog } = callerServices
  const { settings, log, platform, feed, projector, speech, metrics, running } = deps
  const answers = readModelAnswers(platform.store, projector, callerServices.marketNow, speech)
  return createServer({
    log,
    version,
    market: settings.MARKET,
    metrics: metrics.registry,
    tracing: deps.tracing,
    newId: platform.newId,
    operatorToken: settings.OPERATOR_TOKEN,
    publicUrl: () => address.url,
    trustProxy: settings.TRUST_PROXY,
    since: Date.now(),
    registryProof: settings.MCP_REGISTRY_PROOF,
    rateLimits: createRateLimits({
      perAddress: settings.RATE_PER_ADDRESS,
      perKey: settings.RATE_PER_KEY,
      // A cache that is this process's own would count a second time what is counted already.
      shared: settings.REDIS_URL === undefined ? undefined : platform.cache,
      now: () => performance.now(),
      report: (fault) => log.warn({ err: fault }, 'rate limits'),
    }),
    markets: createMarketsSource({ feed, projector, running, watchList }),
    marketNow: callerServices.marketNow,
    readiness: () => readinessOfProcess(deps, opened),
    ...answers,
    logFormat: platform.format,
    models: modelAdmin(platform, projector, speech, callerServices.marketNow, opened.signal),
    bars: createBars(feed),
    sealed: transparencyLog?.sealed,
    transparencyLog: transparencyLog?.server,
    board: openBoard(projector, {
      market: settings.MARKET,
      marketNow: callerServices.marketNow,
      staleAfterMs: staleAfterMs(settings),
    }),
    seriesHistory: (query, signal) =>
      seriesHistory(platform.store, query, {
        market: settings.MARKET,
        now: callerServices.marketNow(),
        signal,
      }),
    usage: callers.usage,
    accounts: accountOptions({ platform, log }, callers),
    payments: payments.server,
    webhooks: webhooks.server,
    knowledge: knowledge.server,
    mcp: await mcpOf(deps, opened, answers),
    replay,
    follow: (options) => followVerdicts(platform.store, { ...options, sleep }),
    rankAt: (coin, position) => rankAt(platform.store, coin, position),
    answerTool: (tool, request) => toolHandler.answer(toolNamed(tool), request),
  })
}

async function readinessOfProcess(
  deps: Deps,
  { remote, callerServices: { payments, webhooks, transparencyLog } }: Opened,
) {
  const { settings, platform, projector, running, feed } = deps
  const models = projector?.health() ?? []
  const adapters = await adapterHealth(platform)
  const components = componentsOf({
    adapters,
    models,
    hasCallers: settings.ROLES.includes('api'),
    engine: running.engine,
    engines: settings.ROLES.includes('api') ? remote.health() : undefined,
    transparencyLog,
    settler: payments.settler?.health(),
    refunds: payments.refunds(),
    demo: payments.demo,
    dispatcher: webhooks.dispatcher?.health(),
    digestProblems: webhooks.digestProblems(),
    leases: [
      { group: 'dispatcher', leases: webhooks.leases },
      { group: 'settler', leases: payments.leases },
    ].flatMap(({ group, leases }) => (leases === undefined ? [] : [{ group, leases }])),
    feed,
    staleAfterMs: staleAfterMs(settings),
    upMs: performance.now() - deps.openedAt,
  })
  return { ...readinessOf(components), process: { ...processFacts(deps), runs_on: runsOn(adapters) } }
}

const mcpOf = (
  { settings, platform }: Deps,
  { callerServices: { callers, knowledge, payments }, watchList, address }: Opened,
  answers: ReturnType<typeof readModelAnswers>,
) =>
  mcpOptions(
    settings,
    {
      ...callers,
      knowledge: knowledge.service,
      history: answers,
      paid: payments.isOffering ? payments.server.paid.tools : undefined,
    },
    platform.deriveSecret,
    {
      version,
      market: settings.MARKET,
      exchanges: () => watchList?.exchanges ?? [],
      publicUrl: () => address.url,
      trackRecord() {
        const { asOf, rows } = answers.trackRecord({ groupBy: 'timeframe', limit: LIMITS.trackRecordRows })
        return { as_of: asOf, rows: rows as unknown as Json, speech: answers.speech() }
      },
    },
  )

/** What this process says of itself to its operator. */
const processFacts = ({
  settings,
  platform,
}: Pick<Deps, 'settings' | 'platform'>): Omit<ProcessFacts, 'runs_on'> => ({
  version,
  roles: settings.ROLES,
  log: { id: platform.logId, format: platform.format.current(), newest_format: NEWEST_LOG_FORMAT },
  at: isoTime(Date.now()),
})

/** How often a market that has an end says how far it has come. */
const PROGRESS_EVERY_MS = 200

/** The engine, with its lines for people and its numbers for machines. */
function createEngine(
  deps: Deps,
  watchList: WatchList,
  address: { readonly url: string },
  signal: AbortSignal,
): EngineRole {
  const { settings, platform, feed, log, terminal, projector, speech, metrics, running, counts } = deps
  running.engine = createEngineRole({
    settings,
    platform,
    feed,
    watchList,
    newestVerdicts: projector && (() => newestVerdicts(projector)),
    speech,
    log,
    signal,
    publicUrl: () => address.url,
    onProblem: (code) => metrics.appendTrouble(code),
    onRefused: ({ exchange }, fault) => metrics.marketDataRefused(exchange, fault),
    onClosed: ({ exchange }, { code }) => metrics.seriesClosed(exchange, code),
    onLabelled: (outcomes) => metrics.outcomesLabelled(outcomes),
    onRecorded(verdicts) {
      counts.recorded += verdicts.length
      metrics.verdictsRecorded(verdicts)
      // What a clock was run through is counted by the line of progress.
      const ranTo = feed.ranTo?.() ?? 0
      terminal.verdicts(verdicts.filter(({ barClose }) => barClose > ranTo))
    },
  })
  return running.engine
}

/** Follows the market to its end, and says how far it has come and what came of it. */
async function followMarket(
  { feed, terminal, settings, counts }: Deps,
  engine: EngineRole,
  url: string | undefined,
  signal: AbortSignal,
): Promise<EngineRun> {
  const started = performance.now()
  let isRead = false
  const ticking = setInterval(() => {
    const progress = feed.progress()
    if (progress === undefined || isRead) return
    isRead = progress.barsDone >= progress.barsTotal
    terminal.progress(progress, counts.recorded)
  }, PROGRESS_EVERY_MS)
  try {
    const run = await engine.start()
    if (signal.aborted) return run
    const progress = feed.progress()
    if (progress !== undefined) terminal.progress({ ...progress, barsDone: progress.barsTotal }, run.recorded)
    const seconds = (performance.now() - started) / 1_000
    const servedAt = settings.EXIT_AT_END ? undefined : url
    terminal.summary(summaryLines({ run, calls: engine.calls(), seconds, url: servedAt }))
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
