import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import { brokenInvariants } from '../../../contracts/errors/assert.ts'
import type { Projector } from '../../log/projector/projector.ts'
import { type MarketFeed, VENUE_FAULTS } from '../../market/index.ts'
import type { PaymentTotals, Settler } from '../../payments/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Dispatcher, DispatchMetrics } from '../../webhooks/index.ts'
import type { AppendDone } from '../adapters/open-platform.ts'
import type { MonitoredCounts } from '../roles/market-health.ts'

/** Names and buckets are those of OpenTelemetry's semantic conventions, where they have some. */
const histogramIn =
  (registry: Registry) =>
  <Label extends string = never>(name: string, help: string, buckets: number[], labelNames: Label[] = []) =>
    new Histogram({ name, help, buckets, labelNames, registers: [registry] })

/** Counts what the parts of a process do; made before them. */
export function createCounters(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const recorded = counter('verdicts_recorded_total', 'Verdicts appended', 'exchange', 'timeframe', 'call')
  const labelled = counter('outcomes_labelled_total', 'Outcomes appended', 'exchange', 'timeframe', 'race')
  const failures = counter('append_failures_total', 'Times that verdicts began to wait for the store', 'code')
  const closed = counter('series_closed_total', 'Series closed because of a fault', 'exchange', 'code')
  const mails = counter('sign_in_mails_total', 'Sign-in mails, sent or held back by a limit', 'outcome')
  const appends = histogramIn(registry)(
    'db_client_operation_duration_seconds',
    'Time until an append is durable, by why it failed',
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
    ['db_operation_name', 'error_type'],
  )
  return {
    signInMail: (outcome: 'sent' | 'held') => mails.inc({ outcome }),
    outcomesLabelled(outcomes: readonly Outcome[]) {
      for (const { exchange, timeframe, race } of outcomes) labelled.inc({ exchange, timeframe, race })
    },
    verdictsRecorded(verdicts: readonly Verdict[]) {
      for (const { exchange, timeframe, call } of verdicts) recorded.inc({ exchange, timeframe, call })
    },
    appendTrouble: (code: string) => failures.inc({ code }),
    appended: ({ durationS, error = '' }: Parameters<AppendDone>[0]) =>
      appends.observe({ db_operation_name: 'append', error_type: error }, durationS),
    seriesClosed: (exchange: string, code: string) => closed.inc({ exchange, code }),
    webhooks: countWebhooks(registry),
  }
}

function countWebhooks(registry: Registry): DispatchMetrics {
  const histogram = histogramIn(registry)
  const attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts to deliver, by what came of them',
    labelNames: ['result'],
    registers: [registry],
  })
  const sending = histogram(
    'messaging_client_operation_duration_seconds',
    'Time that attempts to deliver take, by why they failed',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    ['messaging_system', 'messaging_operation_name', 'error_type'],
  )
  const latency = histogram(
    'webhook_delivery_seconds',
    'From the recording of a signal until a first attempt was accepted',
    [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
  )
  return {
    attempt({ result, durationMs, firstAfterMs }) {
      attempts.inc({ result })
      const error = result === 'delivered' ? '' : result
      const labels = { messaging_system: 'webhook', messaging_operation_name: 'send', error_type: error }
      sending.observe(labels, durationMs / 1_000)
      if (firstAfterMs !== undefined) latency.observe(firstAfterMs / 1_000)
    },
  }
}

/** Measures how long each answer takes, by its route. */
export function useMetrics(app: FastifyInstance, registry: Registry): void {
  const duration = histogramIn(registry)(
    'http_server_request_duration_seconds',
    'Time from the request to the end of its answer',
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    ['http_request_method', 'http_route', 'http_response_status_code'],
  )
  app.addHook('onResponse', (request, { statusCode, elapsedTime }, done) => {
    const { method, routeOptions } = request
    const labels = {
      http_request_method: method,
      http_route: routeOptions.url ?? '(none)',
      http_response_status_code: String(statusCode),
    }
    duration.observe(labels, elapsedTime / 1_000)
    done()
  })
}

/** The parts of a process that are read at each scrape; undefined without their role. */
export interface MeasuredParts {
  readonly settings: Settings
  readonly feed: Pick<MarketFeed, 'clock' | 'venues'>
  readonly projector: Projector | undefined
  readonly engine: { lastBarClose(): number | undefined; monitored(): readonly MonitoredCounts[] } | undefined
  readonly payments: {
    totals(): PaymentTotals | undefined
    readonly settler: Pick<Settler, 'health'> | undefined
  }
  readonly webhooks: { readonly dispatcher: Pick<Dispatcher, 'health'> | undefined }
}

/** The values of the labels, then the number. */
type Sample = readonly [...labels: string[], value: number]
type Scraped = ReturnType<typeof scrapedIn>

/** A metric whose samples are all read at each scrape. Nothing is waited for, so that no silent server holds it up. */
const scrapedIn =
  (registry: Registry) =>
  (
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<Sample>,
  ): unknown =>
    new Kind({
      name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset()
        for (const sample of read()) {
          const labels = labelNames.map((label, at) => [label, String(sample[at])] as const)
          this.inc(Object.fromEntries(labels), Number(sample.at(-1)))
        }
      },
    })

/** Values by their label; none without their source. */
const valuesOf = <Source>(
  source: Source | undefined,
  read: (source: Source) => Readonly<Record<string, number>>,
): readonly Sample[] => (source === undefined ? [] : Object.entries(read(source)))

/** Metrics that are read from the parts of a process, and those of the process itself. */
export function registerGauges(registry: Registry, parts: MeasuredParts): void {
  collectDefaultMetrics({ register: registry })
  // Gauges named like counters, which the rules for metrics forbid; the gauges without the ending hold the same.
  for (const name of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${name}_total`)
  const scraped = scrapedIn(registry)
  scraped(Counter, 'invariants_broken_total', 'Assertions that failed', ['invariant'], brokenInvariants)
  scraped(Gauge, 'projection_live', '1 where it follows the log, else 0', ['projection', 'version'], () => {
    const models = parts.projector?.health() ?? []
    return models.map(({ name, version, state }) => [name, String(version), state === 'live' ? 1 : 0])
  })
  gaugeMarket(scraped, parts)
  gaugePayments(scraped, parts)
  gaugeWebhooks(scraped, parts)
}

/** The bars, their venues and the series that are monitored. */
function gaugeMarket(scraped: Scraped, { settings, feed, engine }: MeasuredParts): void {
  scraped(Gauge, 'market_data_age_seconds', 'Age of the newest bar, in market time', ['market'], () =>
    valuesOf(engine?.lastBarClose(), (barClose) => ({
      [settings.MARKET]: Math.max(0, feed.clock() - barClose) / 1_000,
    })),
  )
  scraped(Counter, 'venue_faults_total', 'What venues sent of no use', ['exchange', 'fault'], () =>
    feed
      .venues()
      .flatMap(({ exchange, faults }) =>
        VENUE_FAULTS.map((fault) => [exchange, fault, faults[fault]] as const),
      ),
  )
  scraped(Gauge, 'monitored_series', 'Monitored series, by venue and state', ['exchange', 'state'], () =>
    (engine?.monitored() ?? []).flatMap(({ exchange, monitored: _all, ...states }) =>
      Object.entries(states).map(([state, count]) => [exchange, state, count] as const),
    ),
  )
}

const usdc = (value: bigint): number => Number(value) / 1e6

/** Unsettled claims, and their settlement. */
function gaugePayments(scraped: Scraped, { payments }: MeasuredParts): void {
  const settler = () => payments.settler?.health()
  scraped(Gauge, 'payments_usdc', 'USDC served and unsettled, or never to come', ['state'], () =>
    valuesOf(payments.totals(), ({ unsettled, debt }) => ({ unsettled: usdc(unsettled), debt: usdc(debt) })),
  )
  scraped(Gauge, 'payments_open', 'Payments not at their end, or of unknown state', ['state'], () =>
    valuesOf(settler(), ({ open, unknown }) => ({ open, unknown })),
  )
  scraped(Gauge, 'payments_oldest_unsettled_seconds', 'Age of the oldest unsettled one', ['settler'], () =>
    valuesOf(settler(), ({ oldestOpenMs }) => ({ here: oldestOpenMs / 1_000 })),
  )
  scraped(Gauge, 'payments_oldest_payable_seconds', 'Age of the oldest that could be settled', [], () => [
    [Math.max(0, Date.now() - (settler()?.payableSince ?? Number.POSITIVE_INFINITY)) / 1_000],
  ])
}

/** Subscriptions that this process sends for; zeros in a process that sends nothing. */
function gaugeWebhooks(scraped: Scraped, { webhooks }: MeasuredParts): void {
  const health = () => webhooks.dispatcher?.health()
  scraped(Gauge, 'webhook_subscriptions', 'Subscriptions that this process sends for', ['state'], () => {
    const { shards, longBehind, unattended } = health() ?? { shards: [], longBehind: 0, unattended: 0 }
    const sum = (count: 'subscriptions' | 'behind' | 'failing' | 'disabled'): number =>
      shards.reduce((total, shard) => total + shard[count], 0)
    const [all, failing, disabled] = [sum('subscriptions'), sum('failing'), sum('disabled')]
    const late = { behind: sum('behind'), long_behind: longBehind, unattended }
    return Object.entries({ all, ...late, failing, disabled })
  })
  scraped(Gauge, 'webhook_pass_behind_seconds', 'Lag of the dispatcher behind the log', ['dispatcher'], () =>
    valuesOf(health(), ({ behindMs }) => ({ here: behindMs / 1_000 })),
  )
}
