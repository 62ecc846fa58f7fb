import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  CADENCES,
  SIGNAL_TYPES,
  type SignalType,
  type SubscriptionFilter,
} from '../../../contracts/domain/subscription.ts'
import { CALLS, REGIMES } from '../../../contracts/domain/verdict.ts'
import type { DeliveryCursor } from '../../../contracts/events/delivery-events.ts'
import type { ServiceEvent } from '../../../contracts/events/event-catalogue.ts'
import { comparePositions, later, type Position, START } from '../../../contracts/infra/position.ts'
import type { Matched } from './signal.ts'
import { SignalCursor } from './signal-cursor.ts'
import { SignalFeed } from './signal-feed.ts'
import { matchRange } from './testing/match-range.fixture.ts'
import { aFilter, aSignalLog, type SignalLog } from './testing/signal-log.fixture.ts'

const COINS = ['BTC', 'ETH', 'SOL']
const EXCHANGES = ['SIM', 'HL'] as const
const TIMEFRAMES = ['1m', '1h'] as const
const NAMES = [0, 1, 2, 3]

type Step = (world: SignalLog) => Promise<unknown>

const orNull = <Value>(values: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> =>
  fc.option(values, { nil: null })

const series = { exchange: fc.constantFrom(...EXCHANGES), timeframe: fc.constantFrom(...TIMEFRAMES) }

const filters: fc.Arbitrary<SubscriptionFilter> = fc.record({
  events: fc.uniqueArray(fc.constantFrom(...SIGNAL_TYPES), { minLength: 1 }),
  timeframes: orNull(fc.uniqueArray(fc.constantFrom(...TIMEFRAMES), { minLength: 1 })),
  assets: orNull(
    fc.uniqueArray(fc.constantFrom(...COINS, 'DOGE', 'top:1', 'top:2', 'top:100'), { minLength: 1 }),
  ),
  exchanges: orNull(fc.uniqueArray(fc.constantFrom(...EXCHANGES), { minLength: 1 })),
  minConfidence: fc.constantFrom(0, 53, 56),
  minStrength: fc.constantFrom(0, 50),
  onlyChanges: fc.boolean(),
  digest: orNull(
    fc.record({ ...series, topN: fc.integer({ min: 1, max: 5 }), cadence: fc.constantFrom(...CADENCES) }),
  ),
})

const verdicts = fc.record({
  ...series,
  coin: fc.constantFrom(...COINS),
  call: fc.constantFrom(...CALLS),
  confidence: fc.integer({ min: 50, max: 60 }),
  strength: fc.integer({ min: 0, max: 100 }),
})

const signals: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(verdicts, fc.option(fc.constantFrom(...REGIMES), { nil: undefined })).map(
      ([verdict, prior]): Step =>
        (world) =>
          world.verdict(verdict, prior),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...EXCHANGES), fc.shuffledSubarray(COINS)).map(
      ([exchange, coins]): Step =>
        (world) =>
          world.universe(exchange, coins),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(series.exchange, series.timeframe, fc.constantFrom(...CADENCES)).map(
      ([exchange, timeframe, cadence]): Step =>
        (world) =>
          world.digest(exchange, timeframe, cadence, 4),
    ),
  },
)

const changes: fc.Arbitrary<Step> = fc.tuple(fc.constantFrom(...NAMES), filters).map(
  ([name, filter]): Step =>
    (world) =>
      world.change(name, filter),
)

/** A log that begins with the subscriptions, each from some place on, and goes on with the steps. */
async function aLog(created: readonly SubscriptionFilter[], before: readonly Step[], rest: readonly Step[]) {
  const world = aSignalLog()
  for (const step of before) await step(world)
  const places = world.events().map(({ position }) => position)
  for (const [name, filter] of created.entries()) {
    await world.subscribe(name, filter, places[(name * 3) % Math.max(1, places.length)] ?? START)
  }
  for (const step of rest) await step(world)
  return world
}

/** The compared parts of a matched signal. */
const short = ({ subscriptionId, sequence, signal, topN }: Matched) =>
  `${subscriptionId} ${sequence} ${signal.type} ${signal.position} ${topN}`

/** The same by the plainest means: every filter on every event, from the whole log, with all there is to know. */
function naively(world: SignalLog, name: number): string[] {
  const events = world.events()
  const { startAfter, subscriptionId } = world.subscription(name)
  const created = events.find(
    (event) => event.type === 'SubscriptionCreated' && event.data.subscriptionId === subscriptionId,
  )
  let filter = created?.type === 'SubscriptionCreated' ? created.data.filter : undefined
  const found: string[] = []
  for (const [index, event] of events.entries()) {
    if (event.type === 'SubscriptionChanged' && event.data.subscriptionId === subscriptionId) {
      filter = event.data.filter
    }
    if (filter === undefined || comparePositions(event.position, startAfter) <= 0) continue
    const types = naiveTypes(event)
    for (const type of types) {
      if (!filter.events.includes(type)) continue
      if (!naivelyPasses(filter, type, event, events.slice(0, index))) continue
      const topN = type === 'scan_digest' ? (filter.digest?.topN ?? null) : null
      const place = type === types.at(-1) ? event.position : `${event.position}!`
      found.push(`${subscriptionId} ${found.length + 1} ${type} ${place} ${topN}`)
    }
  }
  return found
}

function naiveTypes(event: ServiceEvent): SignalType[] {
  if (event.type === 'ScanCompleted') return ['scan_digest']
  if (event.type !== 'VerdictRecorded') return []
  const { call, regime, previous } = event.data
  const hasShifted = previous !== null && previous.regime !== regime
  return [
    ...(call === 'HOLD' ? [] : ['trade_call' as const]),
    ...(hasShifted ? ['regime_shift' as const] : []),
  ]
}

function naivelyPasses(
  filter: SubscriptionFilter,
  type: SignalType,
  event: ServiceEvent,
  before: ServiceEvent[],
): boolean {
  const { digest } = filter
  if (event.type === 'ScanCompleted') {
    const { exchange, timeframe, cadence } = event.data
    return (
      `${exchange} ${timeframe} ${cadence}` === `${digest?.exchange} ${digest?.timeframe} ${digest?.cadence}`
    )
  }
  if (event.type !== 'VerdictRecorded') return false
  const { exchange, timeframe, coin, confidence } = event.data
  const ranking = before.findLast((one) => one.type === 'UniverseRanked' && one.data.exchange === exchange)
  const coins = ranking?.type === 'UniverseRanked' ? ranking.data.coins.map((entry) => entry.coin) : []
  const isWanted = (asset: string): boolean =>
    asset.startsWith('top:') ? coins.slice(0, Number(asset.slice(4))).includes(coin) : asset === coin
  const last = before.findLast((one) => one.type === 'VerdictRecorded' && one.stream === event.stream)
  const said = last?.type === 'VerdictRecorded' ? last.data.call : undefined
  return (
    (filter.exchanges?.includes(exchange) ?? true) &&
    (filter.timeframes?.includes(timeframe) ?? true) &&
    (filter.assets?.some(isWanted) ?? true) &&
    confidence >= filter.minConfidence &&
    (type === 'regime_shift' || event.data.strength >= filter.minStrength) &&
    !(type === 'trade_call' && filter.onlyChanges && 'call' in event.data && said === event.data.call)
  )
}

const feedOf = (world: SignalLog, after: Position): SignalFeed =>
  new SignalFeed({
    store: world.store,
    after,
    onSubscription: () => undefined,
    onMoved: () => undefined,
    signal: new AbortController().signal,
  })

/** All signals that a subscription finds from a cursor on, as an endpoint asks for them. */
async function readAll(
  world: SignalLog,
  feed: SignalFeed,
  name: number,
  from: DeliveryCursor,
): Promise<Matched[]> {
  const subscription = world.subscription(name)
  let waiting = Promise.withResolvers<void>()
  const cursor = new SignalCursor(
    feed,
    {
      subscriptionId: subscription.subscriptionId,
      filters: subscription.filters,
      isKnown: () => false,
      found: () => waiting.resolve(),
      failed: (error) => waiting.reject(error),
    },
    from,
  )
  const found: Matched[] = []
  while (cursor.atHead === undefined) {
    const next = cursor.first()
    if (next === undefined) {
      await waiting.promise
      waiting = Promise.withResolvers()
    } else {
      found.push(next)
      cursor.shift()
    }
  }
  expect(cursor.atHead).toEqual({
    after: later(feed.position, from.after),
    sequence: from.sequence + found.length,
  })
  return found
}

const logs = fc.record({
  created: fc.array(filters, { minLength: NAMES.length, maxLength: NAMES.length }),
  before: fc.array(signals, { maxLength: 6 }),
  rest: fc.array(fc.oneof({ weight: 8, arbitrary: signals }, { weight: 1, arbitrary: changes }), {
    minLength: 5,
    maxLength: 40,
  }),
  /** How much of the log is over when the feed begins. */
  share: fc.double({ min: 0, max: 1, noNaN: true }),
})

test('a cursor finds by page and in memory what the plainest means find, and numbers it the same', async () => {
  await fc.assert(
    fc.asyncProperty(logs, async ({ created, before, rest, share }) => {
      const world = await aLog(created, before, rest)
      const events = world.events()
      const after = events[Math.floor(share * (events.length - 1))]?.position ?? START
      const feed = feedOf(world, after)
      await feed.follow()
      for (const name of NAMES) {
        const { startAfter } = world.subscription(name)
        const expected = naively(world, name)
        const found = await readAll(world, feed, name, { after: startAfter, sequence: 1 })
        expect(found.map(short)).toEqual(expected)
        const plain = matchRange(
          world,
          world.subscription(name),
          { after: startAfter, sequence: 1 },
          world.head(),
        )
        expect((await Array.fromAsync(plain)).map(short)).toEqual(expected)
        // It goes on after any signal, also between two of one event, as if it had never stopped.
        const cut = found[Math.floor(share * (found.length - 1))]
        if (cut === undefined) continue
        const cursor = { after: cut.signal.position, sequence: cut.sequence + 1 }
        expect((await readAll(world, feed, name, cursor)).map(short)).toEqual(expected.slice(cut.sequence))
      }
    }),
    { numRuns: 150 },
  )
})

test('a cursor asks the log for what lies before the feed: the ranking then, and what a series said', async () => {
  const world = aSignalLog()
  await world.universe('SIM', ['ETH', 'BTC'])
  await world.subscribe(1, aFilter({ assets: ['top:1'], onlyChanges: true }))
  await world.verdict({ coin: 'ETH', call: 'BUY' }, 'RANGING')
  const after = world.head()
  await world.verdict({ coin: 'ETH', call: 'BUY' })
  const turned = await world.verdict({ coin: 'ETH', call: 'SELL' })
  await world.universe('SIM', ['BTC', 'ETH'])
  await world.verdict({ coin: 'ETH', call: 'BUY' })
  const feed = feedOf(world, after)
  await feed.follow()
  const found = await readAll(world, feed, 1, { after, sequence: 7 })
  expect(found.map(({ sequence, signal }) => [sequence, signal.position])).toEqual([[7, turned.position]])
})

test('a cursor that is ahead of the feed numbers nothing twice', async () => {
  const world = aSignalLog()
  await world.subscribe(1, aFilter())
  const feed = feedOf(world, world.head())
  await world.verdict({ call: 'BUY' })
  expect(await readAll(world, feed, 1, { after: world.head(), sequence: 2 })).toEqual([])
  await world.verdict({ call: 'SELL' })
  const [first, second] = world.events().slice(-2)
  await feed.follow()
  const found = await readAll(world, feed, 1, { after: first?.position ?? START, sequence: 2 })
  expect(found.map(({ sequence, signal }) => [sequence, signal.position])).toEqual([[2, second?.position]])
})
