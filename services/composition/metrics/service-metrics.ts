import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { brokenInvariants } from '../../../contracts/assert.ts'
import type { Outcome } from '../../../contracts/outcome.ts'
import type { Series } from '../../../contracts/series.ts'
import type { Verdict } from '../../../contracts/verdict.ts'
import type { Projector } from '../../log/projector/projector.ts'
import type { AppendDone } from '../../log/time-appends.ts'
import { type MarketFeed, VENUE_FAULTS } from '../../market/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Dispatcher, DispatcherHealth, DispatchMetrics } from '../../webhooks/index.ts'
import type { MonitoredCounts } from './monitored-series.ts'
import { gaugePayments, type MeasuredPayments } from './payment-metrics.ts'
import { gaugesOf, scrapedIn } from './scraped.ts'

/** The parts of a process that work, filled in as they are opened. */
export interface RunningParts {
  engine?: {
    lastBarClose(): number | undefined
    newestBar(series: Series): number | undefined
    monitored(): readonly MonitoredCounts[]
  }
  payments?: MeasuredPayments
  webhooks?: { readonly dispatcher: Pick<Dispatcher, 'health'> | undefined }
}

interface MeasuredParts {
  readonly settings: Settings
  readonly feed: MarketFeed
  readonly projector: Projector | undefined
  readonly running: RunningParts
}

const counterIn =
  (registry: Registry) =>
  <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })

export type ServiceMetrics = ReturnType<typeof createServiceMetrics>

/** Metrics of the service, beside those of the process and of HTTP. */
export function createServiceMetrics(parts: MeasuredParts) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // Gauges named like counters, which the rules for metrics forbid; the gauges without the ending hold the same.
  for (const what of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${what}_total`)
  const scraped = scrapedIn(registry)
  gaugeModels(registry, parts)
  gaugeMarket(registry, parts)
  gaugePayments(registry, () => parts.running.payments)
  scraped(
    Counter,
    'invariants_broken_total',
    'Assertions that failed, in any thread; each is a fault of the service',
    ['invariant'],
    brokenInvariants,
  )
  return {
    registry,
    webhooks: countWebhooks(registry, () => parts.running.webhooks?.dispatcher?.health()),
    ...countWork(registry),
  }
}

function countWork(registry: Registry) {
  const counter = counterIn(registry)
  const recorded = counter(
    'verdicts_recorded_total',
    'Verdicts appended by this process',
    'exchange',
    'timeframe',
    'call',
  )
  const labelled = counter(
    'outcomes_labelled_total',
    'Outcomes of verdicts appended by this process, by how the race ended',
    'exchange',
    'timeframe',
    'race',
  )
  const problem = counter(
    'append_failures_total',
    'Times that verdicts began to wait for the event store, by error code',
    'code',
  )
  const appends = new Histogram({
    // Names and buckets of OpenTelemetry's semantic conventions.
    name: 'db_client_operation_duration_seconds',
    help: 'Time until an append is durable, by why it failed',
    labelNames: ['db_operation_name', 'error_type'] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
    registers: [registry],
  })
  const closed = counter(
    'series_closed_total',
    'Times that a monitored series was closed because of a fault of its own, by error code',
    'exchange',
    'code',
  )
  const signInMails = counter(
    'sign_in_mails_total',
    'Sign-in mails that were sent, and that were held back by a limit',
    'outcome',
  )
  return {
    signInMail: (outcome: 'sent' | 'held') => signInMails.inc({ outcome }),
    outcomesLabelled(outcomes: readonly Outcome[]) {
      for (const { exchange, timeframe, race } of outcomes) labelled.inc({ exchange, timeframe, race })
    },
    verdictsRecorded(verdicts: readonly Verdict[]) {
      for (const { exchange, timeframe, call } of verdicts) recorded.inc({ exchange, timeframe, call })
    },
    appendTrouble: (code: string) => problem.inc({ code }),
    appended: ({ durationS, error = '' }: Parameters<AppendDone>[0]) =>
      appends.observe({ db_operation_name: 'append', error_type: error }, durationS),
    seriesClosed: (exchange: string, code: string) => closed.inc({ exchange, code }),
  }
}

/** Read models that follow the log. */
function gaugeModels(registry: Registry, { projector }: MeasuredParts): void {
  scrapedIn(registry)(
    Gauge,
    'projection_live',
    '1 where a projection has caught up with the log and follows it, else 0',
    ['projection', 'version'],
    () =>
      (projector?.health() ?? []).map(({ name, version, state }) => [
        name,
        String(version),
        state === 'live' ? 1 : 0,
      ]),
  )
}

/** The bars, their venues and the series that are monitored. */
function gaugeMarket(registry: Registry, { settings, feed, running }: MeasuredParts): void {
  const scraped = scrapedIn(registry)
  const newest = () => running.engine?.lastBarClose()
  gaugesOf(registry, newest, [
    // A label, so that there is no value before the first bar.
    [
      'market_data_age_seconds',
      'Age of the newest bar, in market time',
      'market',
      (barClose) => ({ [settings.MARKET]: Math.max(0, feed.clock() - barClose) / 1_000 }),
    ],
  ])
  scraped(
    Counter,
    'venue_faults_total',
    'What venues sent and could not be used: rows that are no bars, prices a hundred times off, newest bars told differently afterwards, clocks that went back',
    ['exchange', 'fault'],
    () =>
      feed
        .venues()
        .flatMap(({ exchange, faults }) =>
          VENUE_FAULTS.map((fault) => [exchange, fault, faults[fault]] as const),
        ),
  )
  scraped(
    Gauge,
    'monitored_series',
    'Series that are monitored, by venue and state: fresh, stale, closed because of a fault, or loading',
    ['exchange', 'state'],
    () =>
      (running.engine?.monitored() ?? []).flatMap(({ exchange, fresh, stale, closed, loading }) =>
        Object.entries({ fresh, stale, closed, loading }).map(
          ([state, count]) => [exchange, state, count] as const,
        ),
      ),
  )
}

function countWebhooks(registry: Registry, dispatcher: () => DispatcherHealth | undefined): DispatchMetrics {
  const registers = [registry]
  const counter = counterIn(registry)
  const attempts = counter('webhook_attempts_total', 'Attempts to deliver, by what came of them', 'result')
  const sending = new Histogram({
    // Names of OpenTelemetry's semantic conventions for messaging.
    name: 'messaging_client_operation_duration_seconds',
    help: 'Time that attempts to deliver take, by what came of them where they failed',
    labelNames: ['messaging_system', 'messaging_operation_name', 'error_type'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  const latency = new Histogram({
    name: 'webhook_delivery_seconds',
    help: 'From the recording of a signal until a first attempt was accepted',
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
    registers,
  })
  // Nothing is sent where nobody dispatches: that is said as zeros.
  gaugesOf(registry, () => dispatcher() ?? { shards: [], longBehind: 0, unattended: 0 }, [
    [
      'webhook_subscriptions',
      'Subscriptions that this process sends for; behind, those that catch up, long_behind for more than a minute; unattended, those of its shards that it does not work on',
      'state',
      ({ shards, longBehind, unattended }) => {
        const sum = (count: 'subscriptions' | 'behind' | 'degraded' | 'disabled'): number =>
          shards.reduce((total, shard) => total + shard[count], 0)
        return {
          all: sum('subscriptions'),
          behind: sum('behind'),
          long_behind: longBehind,
          unattended,
          degraded: sum('degraded'),
          disabled: sum('disabled'),
        }
      },
    ],
  ])
  gaugesOf(registry, dispatcher, [
    [
      'webhook_pass_behind_seconds',
      'For how long the dispatcher has been behind the end of the log; 0 where it is not',
      'dispatcher',
      ({ behindMs }) => ({ here: behindMs / 1_000 }),
    ],
  ])
  const strays = counter(
    'webhook_endpoints_reattached_total',
    'Active endpoints that were found attached to nothing, and read for again',
  )
  return {
    stray: () => strays.inc(),
    attempt({ result, durationMs, firstAfterMs }) {
      attempts.inc({ result })
      const error = result === 'delivered' ? '' : result
      const labels = { messaging_system: 'webhook', messaging_operation_name: 'send', error_type: error }
      sending.observe(labels, durationMs / 1_000)
      if (firstAfterMs !== undefined) latency.observe(firstAfterMs / 1_000)
    },
  }
}
