import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import type { EventStore } from '../../log/event-store.ts'
import type { SendOutcome } from '../sending/sender.ts'
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
    expect([...coins.values()].filter((of) => of.has('ETH'))).toHaveLength(4)
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

test('a cursor that its owner moves while its endpoint fails is moved, and sending goes on', async () => {
  let isDead = true
  world.endpoint('shaky', () => (isDead ? unreachable : answered(200)))
  await world.subscribe('shaky')
  const start = await world.store.head()
  await world.start({ relays: false })
  await world.verdicts(6)
  await world.time.pass(60_000)
  const tried = world.posts.length
  expect((await world.deliveries('shaky')).failuresInARow).toBeGreaterThanOrEqual(5)
  isDead = false
  await world.say('shaky', 'SubscriptionResumed', { from: 'since', after: start })
  await world.verdicts(1)
  await world.time.pass(5_000)
  const taken = world.postsTo('shaky').slice(tried)
  expect(new Set(taken.map(({ deliveryId }) => deliveryId)).size).toBe(7)
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

describe('what was given up', () => {
  /** Refuses the bodies of these numbers for good, as long as it says so. */
  function refusing(...numbers: readonly number[]): { isOver: boolean } {
    const mood = { isOver: false }
    world.endpoint('all', ({ sequence }) => answered(!mood.isOver && numbers.includes(sequence) ? 422 : 200))
    return mood
  }
  /** Long enough for all tries of a delivery; then the endpoint takes something, as one that was mended does. */
  const giveUp = async (mood: { isOver: boolean }): Promise<void> => {
    await world.time.pass(4 * DAY_MS, 1_800_000)
    mood.isOver = true
    await world.verdicts(1)
    await world.time.pass(1_800_000, 60_000)
    world.posts.splice(0)
  }
  const askAgain = (since = 0) => world.say('all', 'RecoveryRequested', { since })

  test('is tried again alone, once, and what is tried by itself is left to that', async () => {
    const mood = refusing(2, 5)
    await world.subscribe('all')
    const first = await world.start()
    await world.verdicts(6)
    await world.time.pass(1_000)
    const before = new Map(world.postsTo('all').map((post) => [post.sequence, post]))
    await giveUp(mood)
    expect((await world.deliveries('all')).counts).toMatchObject({ delivered: 5, exhausted: 2 })
    // One more that fails, and is still tried.
    world.endpoint('all', ({ sequence }) => answered(sequence === 8 ? 500 : 200))
    await world.verdicts(1)
    await world.time.pass(1_000)
    world.posts.splice(0)
    await askAgain()
    await world.time.pass(1_000)
    for (const { sequence, deliveryId, sha256, attempt } of world.postsTo('all'))
      expect({ ...before.get(sequence), attempt: 1 }).toMatchObject({ deliveryId, sha256, attempt })
    expect(world.sequences('all')).toEqual([2, 5])
    const { counts, cursor, open } = await world.deliveries('all')
    expect([counts.delivered, cursor.sequence, [...open.keys()]]).toEqual([7, 9, [8]])
    // Neither another request nor a restart sends them once more.
    await askAgain()
    await world.time.pass(1_000)
    world.endpoint('all', () => answered(200))
    await first.stop()
    await world.start()
    await world.time.pass(20_000)
    expect(world.sequences('all').filter((sequence) => sequence !== 8)).toEqual([2, 5])
  })

  test('before an instant stays so; what is refused again is retried like any other', async () => {
    const mood = refusing(1)
    await world.subscribe('all')
    await world.start()
    await world.verdicts(2)
    await giveUp(mood)
    await askAgain(world.time.now())
    await world.time.pass(1_000)
    expect(world.posts).toEqual([])
    mood.isOver = false
    await askAgain()
    await world.time.pass(1_000)
    expect((await world.deliveries('all')).open.get(1)).toMatchObject({ attempt: 1, status: 422 })
    mood.isOver = true
    await world.time.pass(HOUR_MS, 60_000)
    expect((await world.deliveries('all')).open.size).toBe(0)
  })

  test('during a pause is tried again once it is resumed, also behind a restart', async () => {
    const mood = refusing(1, 2)
    await world.subscribe('all')
    const first = await world.start()
    await world.verdicts(3)
    await giveUp(mood)
    await world.say('all', 'SubscriptionPaused', { reason: 'maintenance' })
    await askAgain()
    await world.time.pass(2_000)
    await first.stop()
    await world.start()
    await world.time.pass(5_000)
    expect(world.posts).toEqual([])
    await world.say('all', 'SubscriptionResumed', { from: 'cursor', after: null })
    await world.time.pass(10_000)
    expect(world.sequences('all')).toEqual([1, 2])
  })

  test('is tried again once it can be read', async () => {
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
    const mood = refusing(1)
    await world.subscribe('all')
    await world.start({ store })
    await world.verdicts(2)
    await giveUp(mood)
    isAway = true
    await askAgain()
    await world.time.pass(30_000)
    expect(world.sequences('all')).toEqual([1])
    expect(world.errors.splice(0).map(String)).toEqual(['Error: the store is away'])
  })

  test('is taken behind a kill too, and carries both signatures behind a rotation', async () => {
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
    world.endpoint('all', ({ sequence }) => {
      if (sequence === 2) first.mortal?.kill()
      return answered(200)
    })
    await askAgain()
    await world.time.pass(1_000)
    await first.stop()
    world.endpoint('all', () => answered(200))
    await world.start()
    await world.time.pass(20_000)
    expect([...new Set(world.sequences('all'))].toSorted((a, b) => a - b)).toEqual([1, 2, 3])
    expect((await world.deliveries('all')).open.size).toBe(0)
    const signed = world.postsTo('all').map(({ headers }) => headers['X-Service-Signature-Next'])
    expect(signed).not.toContain(undefined)
  })

  test('comes one after the other where its owner wants order', async () => {
    const mood = refusing(1, 2, 3)
    await world.subscribe('all', { sending: { perSecond: null, inOrder: true } })
    await world.start()
    await world.verdicts(4)
    await giveUp(mood)
    let [underWay, most] = [0, 0]
    world.endpoint('all', async () => {
      most = Math.max(most, ++underWay)
      await world.time.sleep(100, new AbortController().signal)
      underWay -= 1
      return answered(200)
    })
    await askAgain()
    await world.time.pass(10_000)
    expect([world.sequences('all'), most]).toEqual([[1, 2, 3], 1])
  })
})
