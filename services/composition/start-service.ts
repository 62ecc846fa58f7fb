import { type EngineRun, serveTools } from '../engine/index.ts'
import type { Settings } from '../runtime/config/settings.ts'
import { noteServing } from '../runtime/sqlite/file-lock.ts'
import { openOwnerSocket } from './adapters/owner-socket.ts'
import { adapterHealth, runsOn } from './components.ts'
import { type Deps, openDeps } from './deps.ts'
import { beginLifetime, type Lifetime } from './lifetime.ts'
import { openParts, runParts } from './parts.ts'
import { bannerLines, summaryLines } from './roles/announcements.ts'
import { openApi } from './roles/api.ts'
import type { EngineRole } from './roles/engine-role.ts'
import { addressWarning, closeServer, listen, listenForHealth } from './serve.ts'

/** A service that runs, and how to end it. */
export interface RunningService extends Pick<Lifetime, 'stop'> {
  /** The address at which it answers; undefined without the api role. */
  readonly url: string | undefined
  /** Settles when the market ends; rejects when the service cannot go on. */
  readonly marketEnd: Promise<EngineRun | undefined>
  /** Rejects when something has ended that should go on for as long as the service; never settles otherwise. */
  readonly failure: Promise<never>
}

/**
 * Composes and starts the service: settings choose the adapters and the roles.
 *
 * @throws ServiceError for everything that keeps it from starting; what was opened by then is closed again.
 * @example const service = await startService(readSettings([], process.env), process.stdout)
 */
export async function startService(settings: Settings, output: NodeJS.WriteStream): Promise<RunningService> {
  const life = beginLifetime(settings)
  try {
    return { ...(await compose(life, output)), stop: life.stop }
  } catch (error) {
    await life.stop()
    throw error
  }
}

async function compose(life: Lifetime, output: NodeJS.WriteStream): Promise<Omit<RunningService, 'stop'>> {
  const { settings, log, signal } = life
  const deps = await openDeps(life, output)
  const { platform, terminal, address, version } = deps
  const parts = await openParts(deps)
  const { engine, watchList } = parts
  const app = await openApi(parts)
  const listening: ({ close(): Promise<void> } | undefined)[] = []
  let working: Promise<void> = Promise.resolve()
  // Before anything listens, so that what cannot start does not go on answering.
  life.onEnd(async () => {
    // Together: neither waits for the other, and callers are turned away from the first moment.
    const servers = listening.map((server) => server?.close())
    await Promise.all([closeServer(app), ...servers, engine?.ended(), working.catch(reported)])
  })
  const url = settings.ROLES.includes('api') ? await listen(app, settings) : undefined
  address.url = url ?? address.url
  const warning = addressWarning(settings, url)
  if (warning !== undefined) log.warn({ HOST: settings.HOST }, warning)
  listening.push(await listenForHealth(app, settings))
  listening.push(await openOwnerSocket(app, platform.directory, log))
  listening.push(noteServing(platform.directory, { url: url ?? 'no-address', pid: process.pid }))
  working = runParts(parts)
  const failure = Promise.race([
    working.then(() => new Promise<never>(() => undefined)),
    platform.storeFailure,
  ])
  // The caller of startService handles it; nobody does while the service is still starting.
  failure.catch(reported)
  const on = { platform: platform.summary, runsOn: runsOn(await adapterHealth(platform)) }
  const monitoring = watchList?.describe()
  const lines = bannerLines({ version, settings, ...on, monitoring, url })
  terminal.banner(lines, url === undefined ? undefined : `signal-service ${version} at ${url}`)
  if (engine === undefined) return { url, failure, marketEnd: Promise.resolve(undefined) }
  serveTools(platform.bus, engine.toolHandler, { name: platform.processId, signal })
  return { url, failure, marketEnd: followMarket(deps, engine, url) }
}

/** `RunningService.failure` reports it. */
const reported = (): void => undefined

/** How often a market that has an end says how far it has come. */
const PROGRESS_EVERY_MS = 200

/** Follows the market to its end, and says how far it has come and what came of it. */
async function followMarket(
  { feed, terminal, settings, signal }: Deps,
  engine: EngineRole,
  url: string | undefined,
): Promise<EngineRun> {
  const started = performance.now()
  let isRead = false
  const ticking = setInterval(() => {
    const progress = feed.progress()
    if (progress === undefined || isRead) return
    isRead = progress.barsDone >= progress.barsTotal
    const { BUY, SELL, HOLD } = engine.calls()
    terminal.progress(progress, BUY + SELL + HOLD)
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
