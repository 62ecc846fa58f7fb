import { randomBytes } from 'node:crypto'
import { reasonOf } from '../../../contracts/errors.ts'
import type { Exchange } from '../../../contracts/exchanges.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import { createAccountIndex, createSubscriberAccounts, SUBJECT_KEYS_PURPOSE } from '../../accounts/index.ts'
import { CONFIDENCE_CAP } from '../../engine/index.ts'
import type { Leases } from '../../log/lease/leases.ts'
import { pacedReads } from '../../log/pacer.ts'
import { sleep } from '../../runtime/async/sleep.ts'
import {
  createBlockedHosts,
  createDeliveryQueries,
  createDigestRecorder,
  createDispatcher,
  createEgressGuard,
  createGuardedSender,
  createSign,
  createSubscriptionDirectory,
  createSubscriptionIndex,
  createSubscriptions,
  type Dispatcher,
  openDeliveryLog,
  relaySignals,
} from '../../webhooks/index.ts'
import type { OnClose } from '../adapters/open-platform.ts'
import { ownHosts } from '../adapters/own-hosts.ts'
import { openLeases } from '../adapters/shared-leases.ts'
import type { ServerOptions } from '../server.ts'
import type { KnownCallerDeps } from './caller-deps.ts'
import { keepsNoReadModels } from './read-models.ts'
import { createUnaskedLimits } from './unasked-limits.ts'

/** Deps of the work on subscriptions that processes share; the same in all of them. */
const SHARDS = 16

export interface WebhookDeps extends KnownCallerDeps {
  /** What is monitored, for warnings about filters that let nothing through; undefined where that is not known. */
  readonly exchanges: () => readonly Exchange[] | undefined
}

/** Subscriptions of this process, and what sends to them where it has that role. */
export interface OpenedWebhooks {
  readonly server: NonNullable<ServerOptions['webhooks']>
  /** Undefined without the dispatcher role. */
  readonly dispatcher: Dispatcher | undefined
  readonly leases: Leases | undefined
  /** What keeps digests from being recorded at the moment, in words. */
  digestProblems(): readonly string[]
  /** Begins to send; resolves when what was under way has ended. */
  run(signal: AbortSignal): Promise<void>
}

export function openWebhooks(deps: WebhookDeps, onClose: OnClose): OpenedWebhooks {
  const { settings, platform, projector, log, publicUrl } = deps
  const { store, bus, cache, idOf, newId } = platform
  const ending = new AbortController()
  const { signal } = ending
  const report = (event: string, details: Readonly<Record<string, string>>): void => log.warn(details, event)
  const hosts = createBlockedHosts({ store, newId, sleep, signal, report, now: Date.now })
  const guard = createEgressGuard({
    allowPrivate: settings.WEBHOOKS_ALLOW_PRIVATE,
    isBlocked: (host) => hosts.isBlocked(host),
    ownHosts: ownHosts(settings),
  })
  const sender = createGuardedSender({ guard, now: Date.now })
  const sign = createSign({ userAgent: `signal-service/${deps.version}` })
  const owners = createSubscriberAccounts({
    store,
    newId,
    sleep,
    signal,
    index: projector && createAccountIndex(projector),
    random: (bytes) => randomBytes(bytes),
    deriveSecret: platform.deriveSecret,
    wrapping: platform.deriveSecrets(SUBJECT_KEYS_PURPOSE),
    now: Date.now,
  })
  const index = projector && createSubscriptionIndex(projector)
  const deliveries = openDeliveryLog({ store, newId, now: Date.now, sleep, signal })
  const looking = pacedReads(store, {
    sliceMs: LIMITS.webhookLookSliceMs,
    restRatio: LIMITS.webhookLookRestRatio,
    now: () => performance.now(),
    sleep: (ms) => sleep(ms, signal),
  })
  const { marketNow } = deps
  const queries = createDeliveryQueries({ store: looking, idOf, marketNow, baseUrl: publicUrl })
  const takeUnasked = createUnaskedLimits({ cache, idOf, hasHostLimit: !settings.WEBHOOKS_ALLOW_PRIVATE })
  const coverage = () => ({
    highestConfidence: CONFIDENCE_CAP,
    silentTimeframes: TIMEFRAMES.filter(
      (timeframe) => !deps.speech.champion(marketNow()).timeframes[timeframe].skill,
    ),
    withdrawn: (timeframe: Timeframe) => deps.speech.withdrawn(timeframe, marketNow()),
    exchanges: deps.exchanges(),
  })
  const worker = createWorker()
  const subscriptions = createSubscriptions({
    store,
    owners,
    index,
    idOf,
    newId,
    sender,
    sign,
    sleep,
    signal,
    report,
    coverage,
    random: (bytes) => randomBytes(bytes),
    looking,
    takeUnasked,
    async checkUrl(url) {
      await hosts.refresh()
      return guard.checkReachable(url)
    },
    sync: (id) => worker.dispatcher.sync(id),
    baseUrl: publicUrl,
    now: Date.now,
  })
  const isDispatcher = settings.ROLES.includes('dispatcher') && index !== undefined
  onClose(async () => {
    ending.abort()
    await subscriptions.ended()
    await sender.close()
  })

  /** The part that sends. Without the role it only asks those who have it. */
  function createWorker() {
    const leases = openLeases({ settings, platform, group: 'dispatcher', shards: SHARDS, log })
    const directory = index && createSubscriptionDirectory({ index, owners, now: Date.now, sleep, signal })
    const dispatcher = createDispatcher({
      store,
      bus,
      deliveries,
      sender,
      sign,
      idOf,
      newId,
      sleep,
      shards: SHARDS,
      leases,
      holder: platform.processId,
      directory: directory ?? NO_DIRECTORY,
      baseUrl: publicUrl,
      notify: (subscription, kind) => subscriptions.notify(subscription, kind),
      now: Date.now,
      marketNow: deps.marketNow,
      random: Math.random,
      report: (error) => log.warn({ err: error }, 'webhooks'),
      metrics: deps.metrics.webhooks,
      tracing: deps.tracing,
    })
    const digests = createDigestRecorder({
      wanted: () => index?.wantedDigests() ?? [],
      scan: (request) => deps.toolHandler.answer('scan_trade_calls', request, 'digests'),
      store,
      idOf,
      sleep,
      clock: deps.marketNow,
      onProblem: (scan, error) => log.warn({ ...scan, err: error }, 'a digest cannot be recorded'),
    })
    return { dispatcher, digests, leases }
  }

  const { dispatcher, digests, leases } = worker
  return {
    server: {
      subscriptions,
      queries,
      hosts,
      coverage,
      identify: deps.accounts.identify,
      now: Date.now,
      checkUrl: (url) => guard.check(url),
    },
    dispatcher: isDispatcher ? dispatcher : undefined,
    leases: isDispatcher ? leases : undefined,
    digestProblems: () => digests.problems(),
    async run(until) {
      await hosts.refresh()
      const work: Promise<void>[] = [hosts.follow(until)]
      // Over NATS those who record tell those who send; within a process whoever sends has to tell itself.
      if (settings.ROLES.includes('engine') || (settings.NATS_URL === undefined && isDispatcher)) {
        const onProblem = (error: unknown): void =>
          log.warn({ reason: reasonOf(error) }, 'signals are not told of over the bus')
        work.push(relaySignals({ store, bus, signal: until, report: onProblem }))
      }
      if (isDispatcher) work.push(dispatcher.run(until), digests.run(until))
      await Promise.all(work)
    },
  }
}

const NO_DIRECTORY = { all: keepsNoReadModels, target: () => undefined }
