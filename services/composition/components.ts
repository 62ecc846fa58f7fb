import { reasonOf } from '../../contracts/errors.ts'
import { isoTime } from '../../contracts/iso-time.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { RemoteToolHandler } from '../engine/index.ts'
import { type Component, type ProcessFacts, type Readiness, readinessOf } from '../http/routes/health.ts'
import type { StoreHealth } from '../log/event-store.ts'
import type { ProjectionHealth } from '../log/projector/projector.ts'
import type { EventMark } from '../log/projector/row-tables.ts'
import type { MarketFeed, VenueHealth } from '../market/index.ts'
import type { SettlerHealth } from '../payments/index.ts'
import { withTimeout } from '../runtime/async/with-timeout.ts'
import type { DispatcherHealth } from '../webhooks/index.ts'
import type { Platform } from './adapters/open-platform.ts'
import type { MonitoredCounts } from './metrics/monitored-series.ts'
import { projectionComponent } from './metrics/projection-component.ts'
import type { Parts } from './parts.ts'
import type { EngineRole } from './roles/engine-role.ts'
import type { OpenedTransparencyLog } from './roles/transparency-log.ts'
import { staleAfterMs } from './roles/watch-list.ts'

/** The answer of `/readyz`: how each part of a process is. */
export async function readinessOfProcess(parts: Parts): Promise<Readiness> {
  const { settings, platform, version } = parts
  // Before the store: a read model that is ahead of its newest event was folded from another log.
  const models = parts.projector?.health() ?? []
  const adapters = await adapterHealth(platform)
  const facts: ProcessFacts = {
    version,
    roles: settings.ROLES,
    log: { id: platform.logId },
    at: isoTime(Date.now()),
    runs_on: runsOn(adapters),
  }
  return { ...readinessOf(componentsOf(parts, adapters, models)), process: facts }
}

function componentsOf(
  parts: Parts,
  { store, bus, cache }: AdapterHealth,
  models: readonly ProjectionHealth[],
): Component[] {
  const { settings, feed, engine, remote, transparencyLog, payments, webhooks } = parts
  const hasCallers = settings.ROLES.includes('api')
  const lost = models.find(({ lostEvent }) => lostEvent !== undefined)?.lostEvent
  const settler = payments.settler?.health()
  const dispatcher = webhooks.dispatcher?.health()
  const isAwaited = hasCallers && performance.now() - parts.openedAt < LIMITS.marketWarmUpMs
  return [
    adapterComponent('store', true, store),
    adapterComponent('bus', false, bus),
    adapterComponent('cache', false, cache),
    lost && setBackComponent(lost),
    ...models.map((health) => projectionComponent(health, { hasCallers, head: store.head })),
    engine && marketComponent(feed, engine, { staleAfterMs: staleAfterMs(settings), isAwaited }),
    engine === undefined && hasCallers && enginesComponent(remote.health()),
    transparencyLog && transparencyLogComponent(transparencyLog),
    settler && settlerComponent(settler),
    dispatcher && dispatcherComponent(dispatcher, webhooks.digestProblems()),
    ...(engine ? feed.venues() : []).map((venue) =>
      venueComponent(venue, engine?.rankingProblem(venue.exchange)),
    ),
  ].filter((component) => component !== undefined && component !== false)
}

const adapterComponent = (
  name: string,
  isRequired: boolean,
  { ok, late, adapter, detail }: StoreHealth,
): Component => ({
  name,
  isRequired,
  state: !ok ? 'failed' : late === undefined ? 'ok' : 'degraded',
  detail: `${adapter}: ${detail}${late === undefined ? '' : `; ${late}`}`,
})

/** A part that callers can do without: `ok`, or `degraded` with its problem. */
const optionalComponent = (
  name: string,
  problem: string | undefined,
  well: string,
  more?: Component['more'],
): Component => ({
  name,
  isRequired: false,
  state: problem === undefined ? 'ok' : 'degraded',
  detail: problem ?? well,
  ...(more && { more }),
})

type AdapterHealth = Awaited<ReturnType<typeof adapterHealth>>

export async function adapterHealth(adapters: Platform) {
  const [store, bus, cache] = await Promise.all([
    inTime('store', adapters.store.health()),
    inTime('bus', adapters.bus.health()),
    inTime('cache', adapters.cache.health()),
  ])
  return { store, bus, cache }
}

const SERVERS: Readonly<Record<string, string>> = {
  nats: 'NATS',
  redis: 'Redis',
  eventstoredb: 'EventStoreDB',
}

export function runsOn({ store, bus, cache }: AdapterHealth): Readonly<Record<string, string>> {
  const { node, sqlite = 'not known' } = process.versions
  const servers = [store, bus, cache].flatMap(({ adapter, version = 'not known', server }: StoreHealth) => {
    const name = server ?? SERVERS[adapter]
    return name === undefined ? [] : [[name, version] as const]
  })
  return { 'Node.js': node, SQLite: sqlite, ...Object.fromEntries(servers) }
}

/** A probe waits a few seconds at most, so a part that does not answer in time has failed. */
const HEALTH_TIMEOUT_MS = 2_000

async function inTime(name: string, asking: Promise<StoreHealth>): Promise<StoreHealth> {
  try {
    const silence = () => new Error(`no answer within ${HEALTH_TIMEOUT_MS} ms`)
    return await withTimeout(asking, HEALTH_TIMEOUT_MS, silence)
  } catch (error) {
    return { ok: false, adapter: name, detail: reasonOf(error) }
  }
}

/** Reported until the next start: read models that were built anew do not show it, and the log grows past its former end. */
const setBackComponent = ({ position, id }: EventMark): Component => {
  const problem = `event ${id} at position ${position} was followed by the read models and is not in the log any more: it was restored from an older copy, or lost its end. They were built anew`
  return optionalComponent('log', problem, '')
}

/**
 * Whether bars come as they close, of all that is monitored. Until the history of a first series has been read, calls
 * wait for it, so that nobody is to be sent here yet; a venue that is away for longer keeps nobody from the others. In a
 * simulated market the past of others may still be under way: a call brings that of its series forward.
 *
 * @param limits.isAwaited whether callers are still kept out for it
 */
export function marketComponent(
  feed: Pick<MarketFeed, 'kind' | 'clock' | 'progress'>,
  engine: Pick<EngineRole, 'problem' | 'lastBarClose' | 'shortestBarMs' | 'monitored' | 'pending'>,
  { staleAfterMs: lateMs, isAwaited }: { readonly staleAfterMs: number; readonly isAwaited: boolean },
): Component {
  const problem = engine.problem()
  const lastBarClose = engine.lastBarClose()
  const ageMs = lastBarClose === undefined ? undefined : Math.max(0, feed.clock() - lastBarClose)
  const past = feed.kind === 'simulated' ? feed.progress() : undefined
  const isInPast = past !== undefined && past.barsDone < past.barsTotal
  const isStale = feed.kind !== 'recorded' && (ageMs === undefined || ageMs > engine.shortestBarMs() + lateMs)
  const age =
    ageMs === undefined
      ? 'warming up, no bar yet'
      : `newest bar closed ${Math.round(ageMs / 1_000)} s ago in market time`
  const isWarmingUp =
    isAwaited && feed.kind !== 'recorded' && lastBarClose === undefined && problem === undefined
  const venues = engine.monitored()
  const pending = engine.pending()
  const computed = isInPast
    ? [`${past.barsDone} of ${past.barsTotal} bars of the past have been computed`]
    : []
  const missing = [
    ...venues.filter(({ stale, closed }) => (isInPast ? 0 : stale) + closed > 0).map(missingOf),
    ...pending.map((exchange) => `${exchange}: nothing followed, for it has not said what it has`),
  ]
  return {
    name: 'market',
    isRequired: isWarmingUp,
    state: isWarmingUp
      ? 'failed'
      : problem !== undefined || isStale || missing.length > 0
        ? 'degraded'
        : 'ok',
    detail: `${feed.kind}: ${[problem ?? age, ...computed, ...missing].join('; ')}`,
    more: {
      data_age_ms: ageMs ?? null,
      past: isInPast ? { computed: past.barsDone, of: past.barsTotal } : null,
      venues_not_answering: pending,
      series: Object.fromEntries(venues.map(({ exchange, ...counts }) => [exchange, counts])),
    },
  }
}

const missingOf = ({ exchange, monitored, stale, closed }: MonitoredCounts): string =>
  `${exchange}: ${stale} of ${monitored} series stale, ${closed} closed`

/** The engines of other processes, for a process without one. */
export function enginesComponent({ answering, silent }: ReturnType<RemoteToolHandler['health']>): Component {
  const some = `${answering} engines answer`
  const problem =
    answering === 0
      ? 'no engine answers: calls are answered from the newest verdicts until the next bar closes'
      : silent > 0
        ? `${some}, ${silent} are silent and get no calls`
        : undefined
  return optionalComponent('engines', problem, some, { answering, silent })
}

/** Verdicts are served and recorded without it; until they are signed nobody can prove them. */
const transparencyLogComponent = ({ problem }: Pick<OpenedTransparencyLog, 'problem'>): Component =>
  optionalComponent('transparency log', problem(), 'signed as it grows')

/** Paid calls are answered without it, up to the caps. */
const settlerComponent = ({
  ok,
  detail,
  open,
  oldestOpenMs,
  unknown,
  payableSince,
  gasBalance,
}: SettlerHealth): Component =>
  optionalComponent('settler', ok ? undefined : detail, detail, {
    open,
    unknown,
    oldest_unsettled_ms: oldestOpenMs,
    payable_since: payableSince === undefined ? null : isoTime(payableSince),
    gas_wei: gasBalance === undefined ? null : gasBalance.toString(),
  })

/** Whether webhooks are sent. An endpoint that fails is its owner's fault to mend, and no fault of this component. */
export function dispatcherComponent(health: DispatcherHealth, digestProblems: readonly string[]): Component {
  const { shards, position, attemptsUnderWay, behindMs, longBehind, strays, unattended } = health
  const sum = (of: (shard: DispatcherHealth['shards'][number]) => number): number =>
    shards.reduce((total, shard) => total + of(shard), 0)
  const subscriptions = sum((shard) => shard.subscriptions)
  const problem = dispatcherProblem(health, subscriptions) ?? digestProblems[0]
  return optionalComponent(
    'dispatcher',
    problem,
    `${subscriptions} subscriptions, log looked at up to ${position}`,
    {
      subscriptions,
      behind: sum((shard) => shard.behind),
      degraded: sum((shard) => shard.degraded),
      disabled: sum((shard) => shard.disabled),
      open_retries: sum((shard) => shard.openRetries),
      attempts_under_way: attemptsUnderWay,
      pass_behind_ms: Math.round(behindMs),
      long_behind: longBehind,
      attached_to_nothing: strays,
      unattended,
    },
  )
}

/** How long the dispatcher may take to reach the end of the log. */
const PASS_BEHIND_MS = 60_000
/** How long a subscription may be without a worker, while its logs are read. */
const UNATTENDED_MS = 60_000
/** Endpoints that may be late because they are slow themselves: this many, or one in this many. */
const FEW_BEHIND = 10
const SHARE_BEHIND = 10

/** The reason why webhooks are sent late; undefined where they are not. */
function dispatcherProblem(health: DispatcherHealth, subscriptions: number): string | undefined {
  const { position, problem, behindMs, longBehind, strays, unattended, unattendedMs } = health
  if (problem !== undefined) return problem
  if (strays > 0) return `${strays} active endpoints were attached to nothing, and are read for now`
  if (unattendedMs >= UNATTENDED_MS)
    return `${unattended} subscriptions of this process have not been worked on for ${Math.round(unattendedMs / 1_000)} s`
  if (behindMs > PASS_BEHIND_MS)
    return `the log was looked at up to ${position}, and its end has been further on for ${Math.round(behindMs / 1_000)} s`
  if (longBehind > Math.max(FEW_BEHIND, subscriptions / SHARE_BEHIND))
    return `${longBehind} of ${subscriptions} active endpoints have been behind the end of the log for more than a minute`
  return undefined
}

const venueComponent = (venue: VenueHealth, rankingProblem: string | undefined): Component => ({
  name: `venue ${venue.exchange}`,
  isRequired: false,
  state: venue.state === 'ok' && rankingProblem !== undefined ? 'degraded' : venue.state,
  detail: rankingProblem === undefined ? venue.detail : `${venue.detail}; ranking: ${rankingProblem}`,
  more: { data_age_ms: venue.dataAgeMs },
})
