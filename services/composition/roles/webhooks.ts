import { HIGHEST_CONFIDENCE, TIMEFRAMES, type Timeframe } from '../../../contracts/domain/timeframes.ts'
import { reasonOf } from '../../../contracts/errors/errors.ts'
import { createAccountIndex, createSubscriberAccounts, SUBJECT_KEYS_PURPOSE } from '../../accounts/index.ts'
import { type Component, optionalComponent } from '../../http/routes/health.ts'
import {
  createBlockList,
  createDeliveryQueries,
  createDigestRecorder,
  createDispatcher,
  createEgressGuard,
  createGuardedSender,
  createSign,
  createSubscriptionDirectory,
  createSubscriptionIndex,
  createSubscriptions,
  type DispatcherHealth,
  openDeliveryLogs,
  relaySignals,
} from '../../webhooks/index.ts'
import { openLeases } from '../adapters/open-leases.ts'
import type { CallerParts } from '../shared-parts.ts'
import { ownHosts } from './callers.ts'
import { createOutboundLimits } from './outbound-limits.ts'
import { keepsNoReadModels } from './read-models.ts'

/** Shards of the work on subscriptions that processes share; the same in all of them. */
const SHARDS = 16

export type OpenedWebhooks = ReturnType<typeof openWebhooks>

/** Subscriptions of this process, and what sends to them if it has that role. */
export function openWebhooks(parts: CallerParts) {
  const { settings, platform, projector, accounts, log, marketNow, shutdown } = parts
  const { store, cache, idOf, bus } = platform
  const common = commonParts(parts)
  const guard = createEgressGuard({
    allowPrivate: settings.WEBHOOKS_ALLOW_PRIVATE,
    isBlocked: createBlockList(settings.WEBHOOK_BLOCKED_HOSTS),
    ownHosts: ownHosts(settings),
  })
  const sender = createGuardedSender({ guard, now: Date.now })
  const sign = createSign({ userAgent: `signal-service/${parts.version}` })
  const subscriptions = createSubscriptions({
    ...common,
    sender,
    sign,
    coverage: coverageOf(parts),
    mailOwner: accounts.mailOwner,
    takeUnasked: createOutboundLimits({ cache, idOf }, !settings.WEBHOOKS_ALLOW_PRIVATE),
    checkUrl: (url) => guard.checkReachable(url),
  })
  const { dispatcher, digests } = openDispatching(parts, {
    ...common,
    sender,
    sign,
    mail: subscriptions.mail,
  })
  const isDispatcher = settings.ROLES.includes('dispatcher') && projector !== undefined
  // Over NATS the process that records tells those that send; within a process the sender has to tell itself.
  const isRelay = settings.ROLES.includes('engine') || (settings.NATS_URL === undefined && isDispatcher)
  shutdown.onClose(async () => {
    await subscriptions.ended()
    await sender.close()
  })
  return {
    server: {
      subscriptions,
      queries: createDeliveryQueries({ store, marketNow, baseUrl: common.baseUrl }),
      identify: accounts.identify,
      now: Date.now,
    },
    dispatcher: isDispatcher ? dispatcher : undefined,
    health: (): Component[] =>
      isDispatcher ? [dispatcherComponent(dispatcher.health(), digests.problems())] : [],
    /** Begins to send; resolves when what was under way has ended. */
    async run(signal: AbortSignal): Promise<void> {
      const report = (error: unknown): void =>
        log.warn({ reason: reasonOf(error) }, 'the bus does not announce signals')
      await Promise.all([
        isRelay ? relaySignals({ store, bus, signal, report }) : undefined,
        ...(isDispatcher ? [dispatcher.run(signal), digests.run(signal)] : []),
      ])
    },
  }
}

type Common = ReturnType<typeof commonParts>

/** The parts of both halves: the one that manages subscriptions and the one that sends. */
function commonParts({ platform, projector, log, publicUrl, shutdown }: CallerParts) {
  const common = {
    ...platform.basics,
    signal: shutdown.stopSignal,
    report: (event: string, details: Readonly<Record<string, string>>): void => log.warn(details, event),
    baseUrl: publicUrl,
  }
  const owners = createSubscriberAccounts({
    ...common,
    index: projector && createAccountIndex(projector),
    deriveSecret: platform.deriveSecret,
    wrapping: platform.deriveSecrets(SUBJECT_KEYS_PURPOSE),
  })
  return { ...common, owners, index: projector && createSubscriptionIndex(projector) }
}

/** The signals that can come at all, for warnings about filters that let none of them through. */
const coverageOf =
  ({ speech, marketNow, watchList }: CallerParts) =>
  () => ({
    highestConfidence: HIGHEST_CONFIDENCE,
    silentTimeframes: TIMEFRAMES.filter((timeframe) => !speech.model.timeframes[timeframe].calls),
    withdrawn: (timeframe: Timeframe) => speech.withdrawn(timeframe, marketNow()),
    exchanges: watchList?.exchanges,
    coins: new Set(watchList?.series().map(({ coin }) => coin)),
  })

/** The part that sends, in a process that has the role. */
function openDispatching(
  parts: CallerParts,
  common: Common & Pick<Parameters<typeof createDispatcher>[0], 'sender' | 'sign' | 'mail'>,
) {
  const { platform, log, counters, marketNow, toolHandler } = parts
  const { index } = common
  const dispatcher = createDispatcher({
    ...common,
    bus: platform.bus,
    deliveries: openDeliveryLogs(common),
    shards: SHARDS,
    leases: openLeases(parts, 'dispatcher', SHARDS),
    holder: platform.processId,
    directory: index ? createSubscriptionDirectory({ ...common, index }) : NO_DIRECTORY,
    random: Math.random,
    report: (error) => log.warn({ err: error }, 'webhooks'),
    metrics: counters.webhooks,
  })
  const digests = createDigestRecorder({
    ...common,
    // A read model that is built does not say yet who wants them.
    wanted: () => (index?.position() === undefined ? [] : index.wantedDigests()),
    scan: (request) => toolHandler.answer('scan_trade_calls', request, 'digests'),
    clock: marketNow,
    onProblem: (scan, error) => log.warn({ ...scan, err: error }, 'a digest cannot be recorded'),
  })
  return { dispatcher, digests }
}

const NO_DIRECTORY = { all: keepsNoReadModels, target: () => undefined }

/** How long the dispatcher may take to reach the end of the log. */
const PASS_BEHIND_MS = 60_000
/** How long a subscription may be without a worker, while its logs are read. */
const UNATTENDED_MS = 60_000
/** Endpoints that may be late because they are slow themselves: this many, or one in this many. */
const FEW_BEHIND = 10
const SHARE_BEHIND = 10

/** Whether webhooks are sent. An endpoint that fails is its owner's fault to mend, and no fault of this component. */
export function dispatcherComponent(health: DispatcherHealth, digestProblems: readonly string[]): Component {
  const subscriptions = health.shards.reduce((total, shard) => total + shard.subscriptions, 0)
  const problem = health.problem ?? delayOf(health, subscriptions) ?? digestProblems[0]
  const detail = `${subscriptions} subscriptions, log read up to ${health.position}`
  return optionalComponent('dispatcher', problem, detail)
}

/** The reason why webhooks are sent late; undefined if they are not. */
function delayOf(health: DispatcherHealth, subscriptions: number): string | undefined {
  const { position, behindMs, longBehind, unattended, unattendedMs } = health
  if (unattendedMs >= UNATTENDED_MS)
    return `${unattended} subscriptions of this process have not been worked on for ${Math.round(unattendedMs / 1_000)} s`
  if (behindMs > PASS_BEHIND_MS)
    return `the log was read up to ${position}, and its end has been further on for ${Math.round(behindMs / 1_000)} s`
  if (longBehind > Math.max(FEW_BEHIND, subscriptions / SHARE_BEHIND))
    return `${longBehind} of ${subscriptions} active endpoints have been behind the end of the log for more than a minute`
  return undefined
}
