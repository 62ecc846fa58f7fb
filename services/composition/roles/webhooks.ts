import { HIGHEST_CONFIDENCE } from '../../../contracts/calling-timeframes.ts'
import { reasonOf } from '../../../contracts/errors.ts'
import { TIMEFRAMES, type Timeframe } from '../../../contracts/timeframes.ts'
import { createAccountIndex, createSubscriberAccounts, SUBJECT_KEYS_PURPOSE } from '../../accounts/index.ts'
import {
  createBlockList,
  createBusyShare,
  createDeliveryQueries,
  createDigestRecorder,
  createDispatcher,
  createEgressGuard,
  createGuardedSender,
  createSign,
  createSubscriptionDirectory,
  createSubscriptionIndex,
  createSubscriptions,
  openDeliveryLog,
  relaySignals,
} from '../../webhooks/index.ts'
import { openLeases } from '../adapters/shared-leases.ts'
import type { CallerDeps } from '../deps.ts'
import type { ServerOptions } from '../server.ts'
import { ownHosts } from './callers.ts'
import { keepsNoReadModels } from './read-models.ts'
import { createUnaskedLimits } from './unasked-limits.ts'

/** Shards of the work on subscriptions that processes share; the same in all of them. */
const SHARDS = 16

export type OpenedWebhooks = ReturnType<typeof openWebhooks>

/** Subscriptions of this process, and what sends to them where it has that role. */
export function openWebhooks(deps: CallerDeps) {
  const { settings, platform, projector, log, publicUrl, marketNow, closing: signal, onClose } = deps
  const { store, cache, idOf } = platform
  const report = (event: string, details: Readonly<Record<string, string>>): void => log.warn(details, event)
  const common = { ...platform.basics, signal, report, baseUrl: publicUrl }
  const { guard, sender, sign } = openSending(deps)
  const owners = createSubscriberAccounts({
    ...common,
    index: projector && createAccountIndex(projector),
    deriveSecret: platform.deriveSecret,
    wrapping: platform.deriveSecrets(SUBJECT_KEYS_PURPOSE),
  })
  const index = projector && createSubscriptionIndex(projector)
  const coverage = coverageOf(deps)
  const subscriptions = createSubscriptions({
    ...common,
    owners,
    index,
    sender,
    sign,
    coverage,
    mailOwner: (accountId, mail) => deps.accounts.mailOwner(accountId, mail),
    takeUnasked: createUnaskedLimits({ cache, idOf, hasHostLimit: !settings.WEBHOOKS_ALLOW_PRIVATE }),
    checkUrl: (url) => guard.checkReachable(url),
    sync: (id) => worker.dispatcher.sync(id),
  })
  const worker = openWorker(deps, {
    ...common,
    index,
    owners,
    sender,
    sign,
    mail: subscriptions.mail,
  })
  const { dispatcher, digests, leases } = worker
  const isDispatcher = settings.ROLES.includes('dispatcher') && index !== undefined
  onClose(async () => {
    await subscriptions.ended()
    await sender.close()
  })
  const server: NonNullable<ServerOptions['webhooks']> = {
    subscriptions,
    queries: createDeliveryQueries({ store, marketNow }),
    identify: deps.accounts.identify,
    now: Date.now,
  }
  return {
    server,
    /** Undefined without the dispatcher role. */
    dispatcher: isDispatcher ? dispatcher : undefined,
    leases: isDispatcher ? leases : undefined,
    /** The reasons why digests are not recorded at the moment. */
    digestProblems: () => digests.problems(),
    /** Begins to send; resolves when what was under way has ended. */
    async run(until: AbortSignal): Promise<void> {
      const work: Promise<void>[] = []
      // Over NATS the process that records tells those that send; within a process the sender has to tell itself.
      if (settings.ROLES.includes('engine') || (settings.NATS_URL === undefined && isDispatcher))
        work.push(relay(deps, until))
      if (isDispatcher) work.push(dispatcher.run(until), digests.run(until))
      await Promise.all(work)
    },
  }
}

/** Signs and sends, to public addresses only, and to none that the operator has blocked. */
function openSending({ settings, version }: CallerDeps) {
  const guard = createEgressGuard({
    allowPrivate: settings.WEBHOOKS_ALLOW_PRIVATE,
    isBlocked: createBlockList(settings.WEBHOOK_BLOCKED_HOSTS),
    ownHosts: ownHosts(settings),
  })
  return {
    guard,
    sender: createGuardedSender({ guard, now: Date.now }),
    sign: createSign({ userAgent: `signal-service/${version}` }),
  }
}

const relay = ({ platform: { store, bus }, log }: CallerDeps, signal: AbortSignal): Promise<void> =>
  relaySignals({
    store,
    bus,
    signal,
    report: (error) => log.warn({ reason: reasonOf(error) }, 'the bus does not announce signals'),
  })

/** The signals that can come at all, for warnings about filters that let none of them through. */
const coverageOf =
  ({ speech, marketNow, watchList }: CallerDeps) =>
  () => ({
    highestConfidence: HIGHEST_CONFIDENCE,
    silentTimeframes: TIMEFRAMES.filter((timeframe) => !speech.model.timeframes[timeframe].calls),
    withdrawn: (timeframe: Timeframe) => speech.withdrawn(timeframe, marketNow()),
    exchanges: watchList?.exchanges,
    coins: new Set(watchList?.series().map(({ coin }) => coin)),
  })

type DispatcherOptions = Parameters<typeof createDispatcher>[0]
type DirectoryOptions = Parameters<typeof createSubscriptionDirectory>[0]

/** The part that sends. Without the role it only asks the processes that have it. */
function openWorker(
  deps: CallerDeps,
  common: Pick<
    DispatcherOptions,
    'store' | 'idOf' | 'newId' | 'sleep' | 'now' | 'baseUrl' | 'sender' | 'sign' | 'mail'
  > &
    Omit<DirectoryOptions, 'index'> & { readonly index: DirectoryOptions['index'] | undefined },
) {
  const { platform, log, metrics, marketNow, toolHandler } = deps
  const { index } = common
  const leases = openLeases(deps, 'dispatcher', SHARDS)
  const dispatcher = createDispatcher({
    ...common,
    bus: platform.bus,
    deliveries: openDeliveryLog(common),
    shards: SHARDS,
    leases,
    holder: platform.processId,
    directory: index ? createSubscriptionDirectory({ ...common, index }) : NO_DIRECTORY,
    random: Math.random,
    busy: createBusyShare(),
    report: (error) => log.warn({ err: error }, 'webhooks'),
    metrics: metrics.webhooks,
  })
  const digests = createDigestRecorder({
    ...common,
    // A read model that is built does not say yet who wants them.
    wanted: () => (index?.position() === undefined ? [] : index.wantedDigests()),
    scan: (request) => toolHandler.answer('scan_trade_calls', request, 'digests'),
    clock: marketNow,
    onProblem: (scan, error) => log.warn({ ...scan, err: error }, 'a digest cannot be recorded'),
  })
  return { dispatcher, digests, leases }
}

const NO_DIRECTORY = { all: keepsNoReadModels, target: () => undefined }
