import { randomBytes } from 'node:crypto'
import type { ServiceEvent } from '../contracts/event-catalogue.ts'
import { EXCHANGES } from '../contracts/exchanges.ts'
import type { SubscriptionFilter } from '../contracts/subscription.ts'
import { TIMEFRAMES } from '../contracts/timeframes.ts'
import { Matcher } from '../services/webhooks/index.ts'
import { openMemoryStore } from '../testing/memory-store/memory-store.ts'
import { type Candidate, measure, print, report, timed } from './support/measure.ts'
import { sampleVerdict } from './support/sample-events.ts'

/**
 * Verdicts per second that are matched against many subscriptions, beside asking every filter about every one of
 * them, and how much of a core the budget of 1,000 verdicts a second takes.
 *
 * node bench/matching.bench.ts          BENCH_SUBSCRIPTIONS=10000 BENCH_EVENTS=20000 BENCH_ROUNDS=5
 */
const SUBSCRIPTIONS = Number(process.env.BENCH_SUBSCRIPTIONS ?? 10_000)
const EVENTS = Number(process.env.BENCH_EVENTS ?? 20_000)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
/** Asking every filter is slow; it is given fewer events. */
const SCANNED_EVENTS = EVENTS / 20
const COINS = 300
const BUDGET_PER_SECOND = 1_000

const pick = <Value>(values: readonly Value[], by: number): Value => values[by % values.length] as Value
const coinName = (rank: number): string => `COIN${rank}`

/** Most ask for a few coins, some for the largest, one in a hundred for everything, all of one or two timeframes. */
function filterOf(n: number): SubscriptionFilter {
  const coins = Array.from({ length: 1 + (n % 8) }, (_, c) => coinName((n * 7 + c * 13) % COINS))
  const kind = n % 100
  return {
    events: ['trade_call', 'regime_shift'],
    timeframes: kind === 0 ? null : [pick(TIMEFRAMES, n), pick(TIMEFRAMES, n * 3)],
    assets: kind === 0 ? null : kind < 10 ? [`top:${1 + (n % 20)}`] : coins,
    exchanges: n % 3 === 0 ? null : [pick(EXCHANGES, n)],
    minConfidence: n % 2 === 0 ? 0 : 54,
    minStrength: n % 5 === 0 ? 60 : 0,
    onlyChanges: n % 4 === 0,
    digest: null,
  }
}

const filters = Array.from({ length: SUBSCRIPTIONS }, (_, n) => filterOf(n))

/** One verdict, of one of the 49,500 series. */
function verdictAt(n: number): ServiceEvent {
  const series = n * 7_919
  const exchange = pick(EXCHANGES, series)
  const timeframe = pick(TIMEFRAMES, series)
  const coin = coinName(series % COINS)
  const sample = sampleVerdict(n, randomBytes, Date.now())
  const call = pick(['BUY', 'SELL', 'HOLD'] as const, n)
  const place = { stream: `verdict-${exchange}.${coin}.${timeframe}`, revision: 0, position: String(n + 1) }
  const data = {
    ...sample.data,
    exchange,
    timeframe,
    coin,
    call,
    confidence: 50 + (n % 10),
    strength: n % 100,
  }
  return { ...sample, ...place, at: new Date().toISOString(), data } as unknown as ServiceEvent
}

const events = Array.from({ length: EVENTS }, (_, n) => verdictAt(n))

function attached(): Matcher {
  const matcher = new Matcher({ store: openMemoryStore({ now: Date.now }), after: 'start' })
  for (const [n, filter] of filters.entries()) {
    const subscription = { subscriptionId: `subscription ${n}`, filters: [{ after: 'start', filter }] }
    matcher.attach(subscription, { after: 'start', sequence: 1 })
  }
  return matcher
}

let matches = 0
const indexed: Candidate = {
  name: 'matcher, by index',
  async round() {
    const matcher = attached()
    matches = 0
    const milliseconds = await timed(async () => {
      for (const event of events) {
        const found = await matcher.match(event)
        matches += found.length
      }
    })
    return { units: events.length, milliseconds }
  },
}

/** A plain loop without rankings and changes, which makes it faster than a complete one. */
function isWanted(filter: SubscriptionFilter, event: ServiceEvent): boolean {
  if (event.type !== 'VerdictRecorded' || event.data.call === 'HOLD') return false
  const { exchange, timeframe, coin, confidence, strength } = event.data
  return (
    filter.events.includes('trade_call') &&
    (filter.exchanges?.includes(exchange) ?? true) &&
    (filter.timeframes?.includes(timeframe) ?? true) &&
    (filter.assets?.includes(coin) ?? true) &&
    confidence >= filter.minConfidence &&
    strength >= filter.minStrength
  )
}

let scanned = 0
const SCAN = 'every filter on every verdict'
const scan: Candidate = {
  name: SCAN,
  async round() {
    scanned = 0
    const few = events.slice(0, SCANNED_EVENTS)
    const milliseconds = await timed(() => {
      for (const event of few) for (const filter of filters) if (isWanted(filter, event)) scanned += 1
    })
    return { units: few.length, milliseconds }
  },
}

const before = process.memoryUsage().heapUsed
const kept = attached()
const bytes = (process.memoryUsage().heapUsed - before) / SUBSCRIPTIONS
print(`${kept.size} subscriptions attached, about ${Math.round(bytes)} bytes each beside their filters`)

const measured = await measure([scan, indexed], ROUNDS)
report('verdicts matched', 'events/s', measured, SCAN, { [indexed.name]: 5 })
const rate = measured.find(({ name }) => name === indexed.name)?.median ?? Number.NaN
print(
  `  ${(matches / EVENTS).toFixed(1)} matches per verdict by index, ${(scanned / SCANNED_EVENTS).toFixed(1)} by the loop (which knows no ranking and no change)`,
)
print(
  `  ${BUDGET_PER_SECOND} verdicts a second take ${((BUDGET_PER_SECOND / rate) * 100).toFixed(1)} % of a core`,
)
