import { type EngineRun, serveTools } from '../engine/index.ts'
import type { Settings } from '../runtime/config/settings.ts'
import { createLog } from '../runtime/logging/log.ts'
import { noteServing } from '../runtime/sqlite/file-lock.ts'
import { openOwnerSocket } from './adapters/owner-socket.ts'
import { openProcess, type Process } from './open-process.ts'
import { bannerLines, summaryLines } from './roles/announcements.ts'
import { serverOptions } from './roles/api.ts'
import type { EngineRole } from './roles/engine-role.ts'
import { addressWarning, closeInTime, listen, listenForHealth } from './serve.ts'
import { createServer } from './server.ts'
import { createShutdown, type Start } from './shutdown.ts'

/** A service that runs, and how to end it. */
export interface RunningService {
  /** The address at which it answers; undefined without the api role. */
  readonly url: string | undefined
  /** Settles when the market ends; rejects when the service cannot go on. */
  readonly marketEnd: Promise<EngineRun | undefined>
  /** Rejects when something has ended that should go on for as long as the service; never settles otherwise. */
  readonly failure: Promise<never>
  stop(): Promise<void>
}

/**
 * Opens and starts the service: settings choose the adapters and the roles. @throws ServiceError for everything that
 * keeps it from starting; what was opened by then is closed again. @example const service = await
 * startService(readSettings([], process.env), process.stdout)
 */
export async function startService(settings: Settings, output: NodeJS.WriteStream): Promise<RunningService> {
  const log = createLog(settings.LOG_LEVEL)
  const shutdown = createShutdown(log)
  try {
    return await startProcess({ settings, log, shutdown }, output)
  } catch (error) {
    await shutdown.stop()
    throw error
  }
}

async function startProcess(start: Start, output: NodeJS.WriteStream): Promise<RunningService> {
  const { settings, log, shutdown } = start
  const process = await openProcess(start, output)
  const { platform, engine, terminal, version } = process
  const app = await createServer(serverOptions(process))
  const listening: ({ close(): Promise<void> } | undefined)[] = []
  let working: Promise<void> = Promise.resolve()
  // Before anything listens, so that a process that cannot start does not go on answering.
  shutdown.onDrain(async () => {
    // Together: neither waits for the other, and callers are turned away from the first moment.
    const servers = listening.map((server) => server?.close())
    const answers = closeInTime(
      () => app.close(),
      () => app.server.closeAllConnections(),
    )
    await Promise.all([answers, ...servers, engine?.ended(), working.catch(reported)])
  })
  const url = settings.ROLES.includes('api') ? await listen(app, settings) : undefined
  process.listensAt(url)
  const warning = addressWarning(settings, url)
  if (warning !== undefined) log.warn({ HOST: settings.HOST }, warning)
  listening.push(await listenForHealth(app, settings))
  listening.push(await openOwnerSocket(app, platform.directory, log))
  listening.push(noteServing(platform.directory, { url: url ?? 'no-address', pid: globalThis.process.pid }))
  working = process.run()
  const failure = Promise.race([
    working.then(() => new Promise<never>(() => undefined)),
    platform.storeFailure,
  ])
  // The caller of startService handles it; nobody does while the service is still starting.
  failure.catch(reported)
  const { runsOn } = await platform.health()
  const monitoring = process.watchList?.describe()
  const lines = bannerLines({ version, settings, platform: platform.summary, runsOn, monitoring, url })
  terminal.banner(lines, url === undefined ? undefined : `signal-service ${version} at ${url}`)
  const { stop } = shutdown
  if (engine === undefined) return { url, failure, marketEnd: Promise.resolve(undefined), stop }
  serveTools(platform.bus, engine.toolHandler, shutdown.drainSignal)
  return { url, failure, marketEnd: followMarket(process, engine, url), stop }
}

/** `RunningService.failure` reports it. */
const reported = (): void => undefined

/** How often a market that has an end says how far it has come. */
const PROGRESS_EVERY_MS = 200

/** Follows the market to its end, and says how far it has come and what came of it. */
async function followMarket(
  { feed, terminal, settings, shutdown }: Process,
  engine: EngineRole,
  url: string | undefined,
): Promise<EngineRun> {
  const started = performance.now()
  const ticking = setInterval(() => {
    const { BUY, SELL, HOLD } = engine.calls()
    const progress = feed.progress()
    if (progress !== undefined) terminal.progress(progress, BUY + SELL + HOLD)
  }, PROGRESS_EVERY_MS)
  try {
    const run = await engine.start()
    if (shutdown.drainSignal.aborted) return run
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
