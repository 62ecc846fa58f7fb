import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { ERRORS, type ErrorDefinition, ServiceError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Series } from '../contracts/series.ts'
import { replayVerdicts } from './analyst/index.ts'
import { createServer, readinessOf } from './api/index.ts'
import { componentsOf } from './composition/components.ts'
import { type Console, createConsole } from './composition/console.ts'
import { chooseSeries, describeSeries, openFeed } from './composition/open-feed.ts'
import { openPlatform, type Platform } from './composition/open-platform.ts'
import { type EngineRole, startEngine, startProjections } from './composition/run-roles.ts'
import { createServiceMetrics } from './composition/service-metrics.ts'
import type { EngineRun } from './engine/index.ts'
import type { MarketFeed } from './market/index.ts'
import { readSettings } from './platform/config/read-settings.ts'
import type { Settings } from './platform/config/settings.ts'
import { createLog } from './platform/log/log.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
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

async function compose(
  settings: Settings,
  output: NodeJS.WriteStream,
  log: Logger,
  onClose: (close: () => Promise<void>) => void,
): Promise<Omit<RunningService, 'stop'>> {
  const has = (role: Settings['ROLES'][number]): boolean => settings.ROLES.includes(role)
  const isPaced = settings.MARKET !== 'recorded' || settings.MARKET_SPEED !== undefined
  const people = createConsole({
    isOn: settings.CONSOLE === 'on',
    showVerdicts: isPaced,
    output,
    now: Date.now,
  })

  const platform = await openPlatform(settings, log, onClose)
  const feed = await openFeed(settings, platform.store, platform.newId)
  const series = has('engine') ? await chooseSeries(feed, settings) : []
  const projector = has('projector') ? startProjections(platform, log) : undefined
  if (projector !== undefined) onClose(() => projector.close())

  const running: { engine?: EngineRole } = {}
  const metrics = createServiceMetrics({
    market: settings.MARKET,
    projections: () => projector?.health() ?? [],
    dataAgeMs: () => {
      const newest = running.engine?.lastBarClose()
      return newest === undefined ? undefined : Math.max(0, feed.clock() - newest)
    },
  })
  // A recorded market that is replayed elsewhere has no clock here; all of it lies in the past.
  const marketNow = settings.MARKET === 'recorded' && !has('engine') ? Date.now : () => feed.clock()
  const app = await createServer({
    log,
    version,
    market: settings.MARKET,
    metrics: metrics.registry,
    newId: platform.newId,
    operatorToken: settings.OPERATOR_TOKEN,
    marketNow,
    readiness: async () =>
      readinessOf(await componentsOf({ platform, projector, engine: running.engine, feed })),
    replay: (options) => replayVerdicts(platform.store, options),
  })
  const url = has('api') ? await listen(app, settings) : undefined
  onClose(() => closeServer(app))
  people.banner(bannerLines(settings, platform, series, url))

  if (!has('engine')) return { url, marketEnd: Promise.resolve(undefined) }
  const ending = new AbortController()
  let recorded = 0
  const engine = startEngine({
    platform,
    feed,
    series,
    log,
    signal: ending.signal,
    onTrouble: (code) => metrics.appendTrouble(code),
    onRecorded(verdicts) {
      recorded += verdicts.length
      metrics.verdictsRecorded(verdicts)
      people.verdicts(verdicts)
    },
  })
  running.engine = engine
  const { done } = engine
  const ticking = showProgress(people, feed, () => recorded)
  onClose(async () => {
    clearInterval(ticking)
    ending.abort()
    // How it ended is told to whoever waits for `marketEnd`.
    await done.then(
      () => undefined,
      () => undefined,
    )
  })
  return {
    url,
    marketEnd: summarised(done, { people, feed, engine, url, ticking, settings, signal: ending.signal }),
  }
}

/** Progress of a feed that has an end, several times a second. */
function showProgress(people: Console, feed: MarketFeed, recorded: () => number): NodeJS.Timeout {
  return setInterval(() => {
    const progress = feed.progress()
    if (progress !== undefined) people.progress(progress, recorded())
  }, 200)
}

async function summarised(
  done: Promise<EngineRun>,
  parts: {
    people: Console
    feed: MarketFeed
    engine: EngineRole
    url: string | undefined
    ticking: NodeJS.Timeout
    settings: Settings
    signal: AbortSignal
  },
): Promise<EngineRun> {
  const started = performance.now()
  const run = await done.finally(() => clearInterval(parts.ticking))
  if (parts.signal.aborted) return run
  const progress = parts.feed.progress()
  if (progress !== undefined)
    parts.people.progress({ ...progress, barsDone: progress.barsTotal }, run.recorded)
  const seconds = (performance.now() - started) / 1_000
  const { BUY, SELL, HOLD } = parts.engine.calls()
  const lines = [
    '',
    `The market has ended: ${run.bars.toLocaleString('en')} bars in ${seconds.toFixed(1)} s.`,
    `${run.recorded.toLocaleString('en')} verdicts recorded (${BUY} BUY, ${SELL} SELL, ${HOLD} HOLD); for ${run.known.toLocaleString('en')} bars the log had this or a newer one.`,
  ]
  if (run.withoutVerdict.length > 0) {
    lines.push(`Fewer than ${LIMITS.warmUpBars} bars, so no verdict: ${run.withoutVerdict.join(', ')}.`)
  }
  if (!parts.settings.EXIT_AT_END && parts.url !== undefined) {
    lines.push(
      `Read them: curl '${parts.url}/api/verdicts?limit=5'`,
      'Serving on; Ctrl-C stops (--exit-at-end would have).',
    )
  }
  parts.people.summary(lines)
  return run
}

async function listen(app: FastifyInstance, settings: Settings): Promise<string> {
  try {
    await app.listen({ host: settings.HOST, port: settings.PORT })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new ServiceError('port_in_use', {
        message: `${settings.HOST}:${settings.PORT} is already in use`,
        cause: error,
      })
    }
    throw error
  }
  const { port } = app.server.address() as AddressInfo
  const host = settings.HOST.includes(':') ? `[${settings.HOST}]` : settings.HOST
  return settings.PUBLIC_URL ?? `http://${host}:${port}`
}

/** Lets what is in flight end; what has not by then is cut. */
async function closeServer(app: FastifyInstance): Promise<void> {
  const cutting = setTimeout(() => app.server.closeAllConnections(), LIMITS.shutdownMs * 0.8)
  await app.close()
  clearTimeout(cutting)
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

function bannerLines(
  settings: Settings,
  platform: Platform,
  series: readonly Series[],
  url: string | undefined,
): string[] {
  const market = settings.MARKET === 'simulated' ? 'simulated market (not real prices)' : 'recorded market'
  const lines = [`signal-service ${version}: ${[market, ...platform.summary].join(', ')}`]
  if (series.length > 0) lines.push(`  monitoring ${describeSeries(series)}`)
  if (url !== undefined) {
    lines.push(
      `  ${url}/              what is served`,
      `  ${url}/api/verdicts  recorded verdicts, one JSON object a line, shown once their window has closed`,
      `  ${url}/readyz        the state of everything`,
    )
  }
  return [...lines, '']
}

/** Says what went wrong and what to do, and answers the exit code for it. */
function explain(error: unknown): number {
  const known = error instanceof ServiceError ? error : new ServiceError('internal_error', { cause: error })
  const cause =
    error instanceof ServiceError ? '' : `${error instanceof Error ? error.stack : String(error)}\n`
  process.stderr.write(`${cause}error ${known.code}: ${known.message}\n${known.nextStep}\n`)
  const { exitCode }: ErrorDefinition = ERRORS[known.code]
  return exitCode ?? 1
}

/** Runs until a signal, the end of a market that is to end the process, or a failure. */
export async function main(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  let service: RunningService | undefined
  const signalled = Promise.withResolvers<undefined>()
  // Stays registered, so that a second signal does not cut the first one's work short.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => signalled.resolve(undefined))
  try {
    const settings = readSettings(args, environment)
    service = await startService(settings, process.stdout)
    const ended = service.marketEnd.then(() => (settings.EXIT_AT_END ? undefined : signalled.promise))
    await Promise.race([signalled.promise, ended])
    return 0
  } catch (error) {
    return explain(error)
  } finally {
    await service?.stop()
  }
}
