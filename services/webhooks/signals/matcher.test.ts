import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeEvent, type ServiceEvent } from '../../../contracts/event-catalogue.ts'
import { comparePositions, START } from '../../../contracts/position.ts'
import { REGIMES } from '../../../contracts/regime.ts'
import { subscriptionStream } from '../../../contracts/streams.ts'
import {
  CADENCES,
  SIGNAL_TYPES,
  type SignalType,
  type SubscriptionFilter,
} from '../../../contracts/subscription.ts'
import { SubscriptionPaused } from '../../../contracts/subscription-events.ts'
import { CALLS } from '../../../contracts/verdict.ts'
import { Matcher } from './matcher.ts'
import type { Matched } from './signal.ts'
import { matchRange } from './testing/match-range.fixture.ts'
import { aFilter, anId, aSignalLog, type SignalLog } from './testing/signal-log.fixture.ts'

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

async function inRange(world: SignalLog, name: number, ends: readonly string[]): Promise<Matched[]> {
  const subscription = world.subscription(name)
  let cursor = { after: subscription.startAfter, sequence: 1 }
  const found: Matched[] = []
  for (const end of ends) {
    if (comparePositions(end, cursor.after) <= 0) continue
    for await (const matched of matchRange({ store: world.store }, subscription, cursor, end))
      found.push(matched)
    cursor = { after: end, sequence: found.length + 1 }
  }
  return found
}

const logs = fc.record({
  created: fc.array(filters, { minLength: NAMES.length, maxLength: NAMES.length }),
  before: fc.array(signals, { maxLength: 6 }),
  rest: fc.array(fc.oneof({ weight: 8, arbitrary: signals }, { weight: 1, arbitrary: changes }), {
    minLength: 5,
    maxLength: 40,
  }),
  /** How much of the log is over when a matcher begins. */
  share: fc.double({ min: 0, max: 1, noNaN: true }),
})

describe('matching', () => {
  test('by index, one by one, and by the plainest means finds the same and numbers it the same', async () => {
    await fc.assert(
      fc.asyncProperty(logs, async ({ created, before, rest, share }) => {
        const world = await aLog(created, before, rest)
        const events = world.events()
        const after = events[Math.floor(share * (events.length - 1))]?.position ?? START
        const expected = NAMES.map((name) => naively(world, name))

        const ranges: Matched[][] = []
        for (const name of NAMES) ranges.push(await inRange(world, name, [after, world.head()]))
        expect(ranges.map((range) => range.map(short))).toEqual(expected)

        /** How many of a subscription's signals lie in front of the matcher. */
        const past = (name: number): number =>
          ranges[name]?.filter(({ signal }) => comparePositions(signal.position, after) <= 0).length ?? 0
        const matcher = new Matcher({ store: world.store, after })
        for (const name of NAMES) {
          const subscription = world.subscription(name)
          const { startAfter } = subscription
          const isAhead = comparePositions(startAfter, after) > 0
          matcher.attach(subscription, { after: isAhead ? startAfter : after, sequence: past(name) + 1 })
        }
        const live: Matched[] = []
        for (const event of events) live.push(...(await matcher.match(event)))
        for (const name of NAMES) {
          const own = live.filter(({ subscriptionId }) => subscriptionId === anId(name))
          expect(own.map(short)).toEqual(expected[name]?.slice(past(name)))
          const all = expected[name]?.length ?? 0
          expect(matcher.detach(anId(name))).toEqual({ after: world.head(), sequence: all + 1 })
        }
      }),
      { numRuns: 150 },
    )
  })

  test('goes on behind any signal, also between two of one event, as if it had never stopped', async () => {
    await fc.assert(
      fc.asyncProperty(logs, async ({ created, before, rest, share }) => {
        const world = await aLog(created, before, rest)
        for (const name of NAMES) {
          const all = await inRange(world, name, [world.head()])
          const cut = all[Math.floor(share * (all.length - 1))]
          if (cut === undefined) continue
          const expected = all.slice(cut.sequence).map(short)
          const cursor = { after: cut.signal.position, sequence: cut.sequence + 1 }
          const ranged: Matched[] = []
          const subscription = world.subscription(name)
          for await (const one of matchRange({ store: world.store }, subscription, cursor, world.head()))
            ranged.push(one)
          expect(ranged.map(short)).toEqual(expected)

          const matcher = new Matcher({ store: world.store, after: cursor.after })
          matcher.attach(subscription, cursor)
          const live: Matched[] = []
          for await (const recorded of world.store.readAll({ after: cursor.after }))
            live.push(...(await matcher.match(decodeEvent(recorded))))
          expect(live.map(short)).toEqual(expected)
        }
      }),
      { numRuns: 100 },
    )
  })

  test('asks the log for what lies before the tail: the ranking then, and what a series said', async () => {
    const world = aSignalLog()
    await world.universe('SIM', ['ETH', 'BTC'])
    await world.subscribe(1, aFilter({ assets: ['top:1'], onlyChanges: true }))
    await world.verdict({ coin: 'ETH', call: 'BUY' }, 'RANGING')
    const after = world.head()
    const same = await world.verdict({ coin: 'ETH', call: 'BUY' })
    const turned = await world.verdict({ coin: 'ETH', call: 'SELL' })
    await world.universe('SIM', ['BTC', 'ETH'])
    const smaller = await world.verdict({ coin: 'ETH', call: 'BUY' })

    const matcher = new Matcher({ store: world.store, after })
    matcher.attach(world.subscription(1), { after, sequence: 7 })
    const found: Matched[][] = []
    for (const event of world.events()) found.push([...(await matcher.match(event))])
    expect(found.flat().map(({ sequence, signal }) => [sequence, signal.position])).toEqual([
      [7, turned.position],
    ])
    expect([same, smaller].map(({ type }) => type)).toEqual(['VerdictRecorded', 'VerdictRecorded'])
  })
})

describe('a matcher', () => {
  test('lets nobody go for a pause of the past; detached and attached again, no number is lost or used twice', async () => {
    const world = aSignalLog()
    await world.subscribe(1, aFilter())
    const matcher = new Matcher({ store: world.store, after: world.head() })
    matcher.attach(world.subscription(1), { after: world.head(), sequence: 1 })
    await matcher.match(await world.verdict({ call: 'BUY' }))
    const data = { subscriptionId: anId(1), reason: 'asked for' }
    const paused = await world.append(subscriptionStream(anId(1)), { definition: SubscriptionPaused, data })
    expect(await matcher.match(paused)).toEqual([])
    // Whether it is over is known to whoever attached it.
    const cursor = matcher.detach(anId(1))
    expect(cursor?.sequence).toBe(2)
    expect(await matcher.match(await world.verdict({ call: 'SELL' }))).toEqual([])

    const missed: Matched[] = []
    const from = cursor ?? { after: START, sequence: 0 }
    for await (const one of matchRange(
      { store: world.store },
      world.subscription(1),
      from,
      matcher.position,
    )) {
      missed.push(one)
    }
    matcher.attach(world.subscription(1), { after: matcher.position, sequence: 2 + missed.length })
    const live = await matcher.match(await world.verdict({ call: 'BUY' }))
    expect([...missed, ...live].map(({ sequence }) => sequence)).toEqual([2, 3])
  })

  test('refuses a subscription that is behind the tail, and leaves out what it has seen', async () => {
    const world = aSignalLog()
    await world.subscribe(1, aFilter())
    const event = await world.verdict({ call: 'BUY' })
    const matcher = new Matcher({ store: world.store, after: world.head() })
    expect(() => matcher.attach(world.subscription(1), { after: START, sequence: 1 })).toThrow(
      expect.objectContaining({
        code: 'invariant_broken',
        message: expect.stringContaining('who joins has seen what the tail has passed'),
      }),
    )
    matcher.attach(world.subscription(1), { after: world.head(), sequence: 1 })
    expect(await matcher.match(event)).toEqual([])
  })

  test('gives the place of one that left to the next, whose filter alone counts there', async () => {
    const world = aSignalLog()
    await world.subscribe(1, aFilter({ assets: ['BTC', 'top:3'], events: ['trade_call'] }))
    await world.subscribe(2, aFilter({ assets: ['ETH'], events: ['trade_call'] }))
    await world.universe('SIM', ['BTC'])
    const matcher = new Matcher({ store: world.store, after: world.head() })
    const cursor = { after: world.head(), sequence: 1 }
    matcher.attach(world.subscription(1), cursor)
    matcher.detach(anId(1))
    matcher.attach(world.subscription(2), cursor)
    expect(matcher.size).toBe(1)
    expect(await matcher.match(await world.verdict({ coin: 'BTC', call: 'BUY' }))).toEqual([])
    const [matched] = await matcher.match(await world.verdict({ coin: 'ETH', call: 'BUY' }))
    expect(matched).toMatchObject({ subscriptionId: anId(2), sequence: 1 })
  })
})
