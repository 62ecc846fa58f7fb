import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/timeframes.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { SendOutcome } from '../sending/sender.ts'
import { anId } from '../signals/testing/signal-log.fixture.ts'
import type { Subscription } from '../state/subscription-state.ts'
import { createSecret } from '../subscriptions/subscription-secrets.ts'
import { answered, unreachable, useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'
import { upTo } from './testing/expect-whole.fixture.ts'
import { createLogDirectory } from './testing/log-directory.fixture.ts'

useDispatchWorld()

/** An endpoint that answers when it is told to. */
function hangs(name: string): () => void {
  const waiting: ((outcome: SendOutcome) => void)[] = []
  let isHanging = true
  world.endpoint(name, () =>
    isHanging ? new Promise<SendOutcome>((resolve) => waiting.push(resolve)) : answered(200),
  )
  return () => {
    isHanging = false
    for (const resolve of waiting) resolve(answered(200))
  }
}

/** Which coin each number was given to, as the endpoint saw it. */
const coinsByNumber = (name: string): Map<number, Set<unknown>> => {
  const seen = new Map<number, Set<unknown>>()
  for (const { sequence, body } of world.postsTo(name)) {
    seen.set(sequence, (seen.get(sequence) ?? new Set()).add(body.data.coin))
  }
  return seen
}

describe('a cursor that its owner moves while deliveries are under way', () => {
  test('gives none of their numbers to another signal, and loses none that comes after', async () => {
    const release = hangs('slow')
    await world.subscribe('slow')
    await world.start()
    await world.verdicts(4)
    await world.time.idle()
    expect(world.posts.length).toBeGreaterThan(0)
    await world.say('slow', 'SubscriptionResumed', { from: 'now', after: await world.store.head() })
    await world.time.idle()
    await world.verdicts(3, { coin: 'ETH' })
    await world.time.idle()
    release()
    await world.time.pass(5_000)
    const coins = coinsByNumber('slow')
    for (const [, of] of coins) expect(of.size).toBe(1)
    const eth = [...coins].filter(([, of]) => of.has('ETH')).map(([sequence]) => sequence)
    expect(eth).toHaveLength(3)
    expect((await world.deliveries('slow')).cursor.sequence).toBe(Math.max(...eth) + 1)
  })

  test('to another signal gives none of their numbers to it', async () => {
    const release = hangs('slow')
    await world.subscribe('slow')
    await world.start()
    await world.verdicts(2)
    const between = await world.store.head()
    await world.verdicts(2, { coin: 'ETH' })
    await world.time.idle()
    await world.say('slow', 'SubscriptionResumed', { from: 'since', after: between })
    await world.time.idle()
    release()
    await world.time.pass(5_000)
    const coins = coinsByNumber('slow')
    for (const [, of] of coins) expect(of.size).toBe(1)
    expect([...coins.values()].filter((of) => of.has('ETH'))).toHaveLength(2)
  })
})

test('a cursor that is moved back while nothing is under way repeats what lies behind it, and goes on', async () => {
  await world.subscribe('all')
  await world.start()
  await world.verdicts(2)
  const since = await world.store.head()
  await world.verdicts(3)
  await world.time.pass(1_000)
  expect(world.sequences('all')).toEqual(upTo(5))
  await world.say('all', 'SubscriptionResumed', { from: 'since', after: since })
  await world.time.pass(1_000)
  await world.verdicts(1)
  await world.time.pass(1_000)
  const posts = world.postsTo('all')
  expect(posts.map(({ sequence }) => sequence)).toEqual(upTo(9))
  expect(posts.slice(5, 8).map(({ deliveryId }) => deliveryId)).toEqual(
    posts.slice(2, 5).map(({ deliveryId }) => deliveryId),
  )
})

test('a cursor that its owner moved while its endpoint recovered is moved, and sending goes on', async () => {
  let isDead = true
  world.endpoint('shaky', () => (isDead ? unreachable : answered(200)))
  await world.subscribe('shaky')
  const start = await world.store.head()
  const { dispatcher } = await world.start({ relays: false })
  await world.verdicts(3)
  await world.time.pass(2_000)
  expect(await world.told('shaky')).toContain('SubscriptionDegraded')
  isDead = false
  await world.say('shaky', 'SubscriptionRecovered')
  await world.say('shaky', 'SubscriptionResumed', { from: 'since', after: start })
  await dispatcher.sync(anId('shaky'))
  await world.verdicts(1)
  await world.time.pass(5_000)
  const taken = world.postsTo('shaky').slice(3)
  expect(new Set(taken.map(({ deliveryId }) => deliveryId)).size).toBe(4)
})

test('what was removed before a restart gets nothing, also where another stands further back', async () => {
  await world.subscribe('quiet', { filter: { assets: ['XRP'] } })
  await world.subscribe('gone')
  const first = await world.start()
  await world.verdicts(3)
  await world.time.pass(1_000)
  await world.say('gone', 'SubscriptionRemoved', { reason: 'removed' })
  await world.time.idle()
  await world.verdicts(3)
  await first.stop()
  expect(world.sequences('gone')).toEqual(upTo(3))
  const looked = Promise.withResolvers<void>()
  /** The way through the log is slow, and has come to where the subscription still was. */
  const store = {
    ...world.store,
    async *readAll(options: Parameters<EventStore['readAll']>[0]) {
      for await (const event of world.store.readAll(options)) {
        if (event.type === 'SubscriptionRemoved') await looked.promise
        yield event
      }
    },
  }
  await world.start({ store, directory: createLogDirectory(world.store) })
  await world.time.pass(3_000)
  looked.resolve()
  await world.time.pass(3_000)
  expect(world.sequences('gone')).toEqual(upTo(3))
})

test('a replay that a restart cuts off goes on with what was not taken, whatever came behind it', async () => {
  let isPicky = false
  world.endpoint('picky', ({ sequence }) => answered(isPicky && sequence === 1 ? 500 : 200))
  await world.subscribe('picky')
  const first = await world.start()
  await world.verdicts(4)
  await world.time.pass(1_000)
  isPicky = true
  const window = { replayId: anId('replay'), fromSequence: 1, toSequence: 4 }
  await world.say('picky', 'ReplayRequested', window)
  await world.time.pass(1_000)
  await first.stop()
  isPicky = false
  await world.start()
  await world.time.pass(10_000)
  const again = world.replayed('picky')
  expect(again.filter((sequence) => sequence === 1)).toHaveLength(2)
  expect([...new Set(again)].toSorted((a, b) => a - b)).toEqual(upTo(4))
  expect((await world.deliveries('picky')).replays.get(window.replayId)).toEqual({
    through: 4,
    delivered: 4,
    exhausted: 0,
  })
})

test('two replays of many deliveries at once send each of them once, and are recorded', async () => {
  await world.subscribe('all')
  await world.start()
  await world.verdicts(40)
  await world.time.pass(1_000)
  for (const name of ['one', 'two']) {
    const window = { replayId: anId(name), fromSequence: 1, toSequence: 40 }
    await world.say('all', 'ReplayRequested', window)
  }
  await world.time.pass(10_000)
  expect(world.postsTo('all')).toHaveLength(120)
  const { replays, counts } = await world.deliveries('all')
  for (const name of ['one', 'two'])
    expect(replays.get(anId(name))).toMatchObject({ through: 40, delivered: 40 })
  expect(counts.delivered).toBe(120)
})

test('a replay goes on behind a pause, with what was about to be sent when it came', async () => {
  let prepare: Promise<void> = Promise.resolve()
  const directory = createLogDirectory(world.store)
  const slow = { ...directory, target: async (of: Subscription) => (await prepare, directory.target(of)) }
  await world.subscribe('all')
  await world.start({ directory: slow })
  await world.verdicts(6)
  await world.time.pass(1_000)
  const { promise, resolve } = Promise.withResolvers<void>()
  prepare = promise
  await world.say('all', 'ReplayRequested', { replayId: anId('one'), fromSequence: 1, toSequence: 6 })
  await world.time.idle()
  await world.say('all', 'SubscriptionPaused', { reason: 'maintenance' })
  await world.time.idle()
  resolve()
  await world.time.pass(1_000)
  expect(world.postsTo('all')).toHaveLength(6)
  await world.say('all', 'SubscriptionResumed', { from: 'cursor', after: null })
  await world.time.pass(10_000)
  expect(
    world
      .sequences('all')
      .slice(6)
      .toSorted((a, b) => a - b),
  ).toEqual(upTo(6))
})

describe('a replay', () => {
  const again = () => world.replayed('all')
  const window = { replayId: anId('replay'), fromSequence: 2, toSequence: 4 }

  test('that was asked for during a pause is sent once it is resumed, also behind a restart', async () => {
    await world.subscribe('all')
    const first = await world.start()
    await world.verdicts(6)
    await world.time.idle()
    await world.say('all', 'SubscriptionPaused', { reason: 'maintenance' })
    await world.say('all', 'ReplayRequested', window)
    await world.time.pass(2_000)
    await first.stop()
    await world.start()
    await world.time.pass(5_000)
    expect(again()).toEqual([])
    await world.say('all', 'SubscriptionResumed', { from: 'cursor', after: null })
    await world.time.pass(10_000)
    expect(again()).toEqual([2, 3, 4])
  })

  test('whose deliveries could not be read at first is sent once they can', async () => {
    let isAway = false
    const store: EventStore = {
      ...world.store,
      read(stream, options) {
        if (isAway && stream.startsWith('delivery-') && options?.direction === 'backwards') {
          isAway = false
          throw new Error('the store is away')
        }
        return world.store.read(stream, options)
      },
    }
    await world.subscribe('all')
    await world.start({ store })
    await world.verdicts(6)
    await world.time.idle()
    isAway = true
    await world.say('all', 'ReplayRequested', window)
    await world.time.pass(30_000)
    expect(again()).toEqual([2, 3, 4])
    expect(world.errors.splice(0).map(String)).toEqual(['Error: the store is away'])
  })
})

describe('what failed', () => {
  const again = () => world.replayed('all')
  /** Refuses the bodies of these numbers for good, as long as it says so. */
  function refusing(...numbers: readonly number[]): { isOver: boolean } {
    const mood = { isOver: false }
    world.endpoint('all', ({ sequence }) => answered(!mood.isOver && numbers.includes(sequence) ? 422 : 200))
    return mood
  }
  const failed = (change: object = {}) => ({
    replayId: anId('replay'),
    fromSequence: 1,
    toSequence: 8,
    only: 'failed',
    deliveries: 2,
    ...change,
  })
  /** Long enough for all tries of a delivery; then the endpoint takes something, as one that was mended does. */
  const giveUp = async (mood: { isOver: boolean }): Promise<void> => {
    await world.time.pass(4 * DAY_MS, 1_800_000)
    mood.isOver = true
    await world.verdicts(1)
    await world.time.pass(1_800_000, 60_000)
  }

  test('is sent again alone, and what is tried by itself is left to that', async () => {
    const mood = refusing(2, 5)
    await world.subscribe('all')
    await world.start()
    await world.verdicts(6)
    await giveUp(mood)
    expect((await world.deliveries('all')).counts).toMatchObject({ delivered: 5, exhausted: 2 })
    // One more that fails, and is still tried.
    world.endpoint('all', ({ sequence }) => answered(sequence === 8 ? 500 : 200))
    await world.verdicts(1)
    await world.time.pass(1_000)
    await world.say('all', 'ReplayRequested', failed())
    await world.time.pass(1_000)
    expect(again()).toEqual([2, 5])
    const { replays } = await world.deliveries('all')
    expect(replays.get(anId('replay'))).toEqual({ through: 8, delivered: 2, exhausted: 0 })
    // Asked for again, it finds nothing, and is done all the same.
    await world.say('all', 'ReplayRequested', failed({ replayId: anId('second') }))
    await world.time.pass(1_000)
    expect(again()).toEqual([2, 5])
    expect((await world.deliveries('all')).replays.get(anId('second'))?.through).toBe(8)
  })

  test('goes on behind a kill with what was not taken, and behind a rotation with both signatures', async () => {
    const mood = refusing(1, 2, 3)
    await world.subscribe('all')
    const first = await world.start({ isMortal: true })
    await world.verdicts(4)
    await giveUp(mood)
    await world.say('all', 'SecretRotated', {
      generation: 0,
      sealedSecret: createSecret((bytes) => new Uint8Array(bytes).fill(9)),
      overlapUntil: world.time.now() + HOUR_MS,
    })
    world.endpoint('all', ({ sequence, headers }) => {
      if (sequence === 2 && headers['X-Service-Replay'] === '1') first.mortal?.kill()
      return answered(200)
    })
    await world.say('all', 'ReplayRequested', failed({ toSequence: 4, deliveries: 3 }))
    await world.time.pass(1_000)
    await first.stop()
    world.endpoint('all', () => answered(200))
    await world.start()
    await world.time.pass(20_000)
    expect([...new Set(again())].toSorted((a, b) => a - b)).toEqual([1, 2, 3])
    const { replays } = await world.deliveries('all')
    expect(replays.get(anId('replay'))).toMatchObject({ through: 4 })
    const replayed = world.postsTo('all').filter(({ headers }) => headers['X-Service-Replay'] === '1')
    expect(replayed.every(({ headers }) => headers['X-Service-Signature-Next'] !== undefined)).toBe(true)
  })

  test('is not sent any more once its replay is cancelled: what is under way ends, and nothing is begun', async () => {
    const mood = refusing(...upTo(6))
    await world.subscribe('all')
    await world.start()
    await world.verdicts(6)
    await giveUp(mood)
    const { promise, resolve } = Promise.withResolvers<void>()
    const onTheirWay: number[] = []
    world.endpoint('all', async ({ sequence }) => {
      onTheirWay.push(sequence)
      await promise
      return answered(200)
    })
    await world.say('all', 'ReplayRequested', failed({ toSequence: 6, deliveries: 6 }))
    await world.time.idle()
    const begun = onTheirWay.length
    expect(begun).toBeGreaterThan(0)
    await world.say('all', 'ReplayCancelled', { replayId: anId('replay') })
    await world.time.pass(1_000)
    resolve()
    await world.time.pass(60_000)
    expect(onTheirWay).toHaveLength(begun)
    const { replays } = await world.deliveries('all')
    expect(replays.get(anId('replay'))).toMatchObject({ delivered: begun })
  })

  test('of a replay that is cancelled during a pause is not sent when it is resumed, nor after a restart', async () => {
    const mood = refusing(1, 2)
    await world.subscribe('all')
    const first = await world.start()
    await world.verdicts(3)
    await giveUp(mood)
    await world.say('all', 'SubscriptionPaused', { reason: 'maintenance' })
    await world.say('all', 'ReplayRequested', failed({ toSequence: 3 }))
    await world.time.pass(1_000)
    await world.say('all', 'ReplayCancelled', { replayId: anId('replay') })
    await world.say('all', 'SubscriptionResumed', { from: 'cursor', after: null })
    await world.time.pass(10_000)
    await first.stop()
    await world.start()
    await world.time.pass(10_000)
    expect(again()).toEqual([])
  })
})
