import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import { brokenInvariants } from '../../../contracts/errors/assert.ts'
import type { Projector } from '../../log/projector/projector.ts'
import { type MarketFeed, VENUE_FAULTS } from '../../market/index.ts'
import type { PaymentTotals, Settler } from '../../payments/index.ts'
import type { Settings } from '../../runtime/config/settings.ts'
import type { Dispatcher } from '../../webhooks/index.ts'
import type { MonitoredCounts } from '../roles/market-health.ts'

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
  scraped(
    Counter,
    'invariants_broken_total',
    'Assertions that failed, in any thread; each is a fault of the service',
    ['invariant'],
    brokenInvariants,
  )
  scraped(
    Gauge,
    'projection_live',
    '1 where a projection has caught up with the log and follows it, else 0',
    ['projection', 'version'],
    () =>
      (parts.projector?.health() ?? []).map(({ name, version, state }) => [
        name,
        String(version),
        state === 'live' ? 1 : 0,
      ]),
  )
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
      (engine?.monitored() ?? []).flatMap(({ exchange, monitored: _all, ...states }) =>
        Object.entries(states).map(([state, count]) => [exchange, state, count] as const),
      ),
  )
}

const usdc = (value: bigint): number => Number(value) / 1e6

/** Unsettled claims, and their settlement. */
function gaugePayments(scraped: Scraped, { payments }: MeasuredParts): void {
  const settler = () => payments.settler?.health()
  scraped(
    Gauge,
    'payments_usdc',
    'USDC of answers that were served: unsettled, where the money is on its way; debt, where it never comes',
    ['state'],
    () =>
      valuesOf(payments.totals(), (totals) => ({
        unsettled: usdc(totals.unsettled),
        debt: usdc(totals.debt),
      })),
  )
  scraped(
    Gauge,
    'payments_open',
    'Payments that are not at their end; unknown, where it cannot be told at the moment whether they are settled',
    ['state'],
    () => valuesOf(settler(), ({ open, unknown }) => ({ open, unknown })),
  )
  scraped(
    Gauge,
    'payments_oldest_unsettled_seconds',
    'Age of the oldest payment that was served and is not settled',
    ['settler'],
    () => valuesOf(settler(), ({ oldestOpenMs }) => ({ here: oldestOpenMs / 1_000 })),
  )
  scraped(
    Gauge,
    'payments_oldest_payable_seconds',
    'Age of the oldest payment that could be settled and is not, wherever settling is done; 0 where there is none',
    [],
    () => [[Math.max(0, Date.now() - (settler()?.payableSince ?? Number.POSITIVE_INFINITY)) / 1_000]],
  )
}

/** Subscriptions that this process sends for; zeros in a process that sends nothing. */
function gaugeWebhooks(scraped: Scraped, { webhooks }: MeasuredParts): void {
  const health = () => webhooks.dispatcher?.health()
  scraped(
    Gauge,
    'webhook_subscriptions',
    'Subscriptions that this process sends for; behind, those that catch up, long_behind for more than a minute; unattended, those of its shards that it does not work on',
    ['state'],
    () => {
      const { shards, longBehind, unattended } = health() ?? { shards: [], longBehind: 0, unattended: 0 }
      const sum = (count: 'subscriptions' | 'behind' | 'failing' | 'disabled'): number =>
        shards.reduce((total, shard) => total + shard[count], 0)
      const [all, failing, disabled] = [sum('subscriptions'), sum('failing'), sum('disabled')]
      const late = { behind: sum('behind'), long_behind: longBehind, unattended }
      return Object.entries({ all, ...late, failing, disabled })
    },
  )
  scraped(
    Gauge,
    'webhook_pass_behind_seconds',
    'For how long the dispatcher has been behind the end of the log; 0 where it is not',
    ['dispatcher'],
    () => valuesOf(health(), ({ behindMs }) => ({ here: behindMs / 1_000 })),
  )
}
