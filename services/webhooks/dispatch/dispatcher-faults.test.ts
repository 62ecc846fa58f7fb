import { describe, expect, test } from 'vitest'
import { anId } from '../signals/testing/signal-log.fixture.ts'
import { answered, unreachable, useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'
import { expectWhole, upTo } from './testing/expect-whole.fixture.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

useDispatchWorld()

describe('a failure', () => {
  test('is tried again by the schedule, ten times in all, and is then given up', async () => {
    // Others keep the endpoint from being taken for broken.
    world.endpoint('picky', ({ sequence }) => answered(sequence === 1 ? 500 : 200))
    await world.subscribe('picky')
    await world.start()
    await world.verdicts(1)
    for (const wait of [0, 5_000, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS]) {
      await world.time.pass(wait + 2_000, Math.max(1_000, wait / 20))
      await world.verdicts(1)
      await world.time.pass(2_000)
    }
    for (const wait of [6, 12, 24]) {
      await world.time.pass(wait * HOUR_MS + 10_000, 0.5 * HOUR_MS)
      await world.verdicts(1)
      await world.time.pass(2_000)
    }
    const tries = world.postsTo('picky').filter(({ sequence }) => sequence === 1)
    expect(tries.map(({ attempt }) => attempt)).toEqual(upTo(10))
    const state = await world.deliveries('picky')
    expect(state).toMatchObject({ cursor: { sequence: 12 }, counts: { exhausted: 1, failed: 10 } })
    expect(state.open.size).toBe(0)
    expectWhole(world.postsTo('picky'), 11)
  })

  test('is tried again when the endpoint asked for it, also after a restart', async () => {
    world.endpoint('busy', ({ attempt }) => (attempt === 1 ? answered(429, 600_000) : answered(200)))
    await world.subscribe('busy')
    const first = await world.start()
    await world.verdicts(1)
    await world.time.idle()
    await world.time.pass(5 * MINUTE_MS, 10_000)
    expect(world.posts).toHaveLength(1)
    await first.stop()
    await world.start()
    await world.time.pass(4 * MINUTE_MS, 10_000)
    expect(world.posts).toHaveLength(1)
    await world.time.pass(MINUTE_MS, 10_000)
    expect(world.posts.map(({ attempt }) => attempt)).toEqual([1, 2])
    expectWhole(world.posts, 1)
  })

  test('of a dead endpoint, five times in a row, has it only probed, without using up attempts', async () => {
    let isDead = true
    world.endpoint('dead', () => (isDead ? unreachable : answered(200)))
    await world.subscribe('dead')
    const { dispatcher } = await world.start()
    await world.verdicts(20)
    await world.time.pass(2 * HOUR_MS, 5_000)
    const state = await world.deliveries('dead')
    expect(state.failuresInARow).toBe(world.posts.length)
    expect(dispatcher.health().shards.reduce((sum, { failing }) => sum + failing, 0)).toBe(1)
    expect(world.posts.length).toBeGreaterThan(12)
    expect(world.posts.length).toBeLessThan(24)
    for (const { attempt } of state.open.values()) expect(attempt).toBeLessThanOrEqual(5)
    isDead = false
    await world.time.pass(40 * MINUTE_MS, 5_000)
    expectWhole(world.posts, 20)
    expect((await world.deliveries('dead')).cursor.sequence).toBe(21)
    expect(await world.told('dead')).toEqual(['SubscriptionCreated'])
  })

  test('for days tells the owner, and disables the endpoint in the end; resuming loses nothing', async () => {
    let isDead = true
    world.endpoint('gone', () => (isDead ? answered(503) : answered(200)))
    const subscriptionId = await world.subscribe('gone')
    let running = await world.start()
    await world.verdicts(6)
    await world.time.pass(30 * HOUR_MS, 5 * MINUTE_MS)
    await running.stop()
    running = await world.start()
    await world.time.pass(100 * HOUR_MS, 10 * MINUTE_MS)
    expect((await world.told('gone')).at(-1)).toBe('SubscriptionDisabled')
    expect(world.mails).toEqual([`failing ${subscriptionId}`, `disabled ${subscriptionId}`])
    const before = world.posts.length
    await world.verdicts(2)
    await world.time.pass(HOUR_MS, MINUTE_MS)
    expect(world.posts).toHaveLength(before)
    isDead = false
    await world.say('gone', 'SubscriptionResumed', { from: 'cursor', after: null })
    await world.time.pass(MINUTE_MS)
    expectWhole(world.posts, 8)
  })

  test('with 410 disables the endpoint at once, and its owner is told once', async () => {
    world.endpoint('left', () => answered(410))
    const subscriptionId = await world.subscribe('left')
    await world.start()
    await world.verdicts(30)
    await world.time.pass(2_000)
    const { length } = world.posts
    expect(length).toBeLessThanOrEqual(4)
    expect(await world.told('left')).toEqual(['SubscriptionCreated', 'SubscriptionDisabled'])
    await world.time.pass(HOUR_MS, MINUTE_MS)
    expect(world.posts).toHaveLength(length)
    expect(world.mails).toEqual([`disabled ${subscriptionId}`])
  })

  test('with a time that it asks for keeps everything from it until then', async () => {
    await world.subscribe('busy')
    world.endpoint('busy', () => answered(429, 600_000))
    await world.start()
    await world.verdicts(8)
    await world.time.pass(1_000)
    const { length } = world.posts
    expect(length).toBeLessThanOrEqual(4)
    await world.time.pass(590_000, 5_000)
    expect(world.posts).toHaveLength(length)
    await world.time.pass(20_000, 1_000)
    expect(world.posts).toHaveLength(length + 1)
  })
})

describe('a body that an endpoint refuses for good', () => {
  const refusing = (isRefused: (sequence: number) => boolean, status = 400) => {
    world.endpoint('picky', ({ sequence }) => answered(isRefused(sequence) ? status : 200))
  }

  test.each([400, 422, 500])(
    'with %i keeps no other from being sent, when there are many',
    async (status) => {
      refusing((sequence) => sequence <= 5, status)
      await world.subscribe('picky')
      await world.start()
      await world.verdicts(5)
      await world.time.pass(5_000)
      await world.verdicts(20)
      await world.time.pass(HOUR_MS, 10_000)
      const taken = new Set(world.sequences('picky').filter((sequence) => sequence > 5))
      expect([...taken].toSorted((a, b) => a - b)).toEqual(upTo(25).slice(5))
      expect((await world.told('picky')).at(-1)).not.toBe('SubscriptionDisabled')
    },
  )

  test.each([429, 503])(
    'is not probed before the time that it asks for with %s, also after a restart',
    async (status) => {
      await world.subscribe('busy')
      world.endpoint('busy', () => answered(status, 2 * HOUR_MS))
      const first = await world.start()
      await world.verdicts(5)
      await world.time.pass(60_000)
      const before = world.posts.length
      await first.stop()
      await world.start()
      await world.time.pass(2 * HOUR_MS - 90_000, 10_000)
      expect(world.posts).toHaveLength(before)
      // One probe, which asks for as long again.
      await world.time.pass(HOUR_MS, 10_000)
      expect(world.posts).toHaveLength(before + 1)
    },
  )

  test('is one of those that wait for an endpoint to come back: the others arrive', async () => {
    let isAway = false
    world.endpoint('picky', ({ sequence }) => answered(isAway ? 503 : sequence === 4 ? 400 : 200))
    await world.subscribe('picky')
    await world.start()
    await world.verdicts(3)
    await world.time.pass(5_000)
    isAway = true
    await world.verdicts(6)
    await world.time.pass(10 * MINUTE_MS, 5_000)
    isAway = false
    await world.verdicts(20)
    await world.time.pass(2 * HOUR_MS, 10_000)
    expectWhole(world.postsTo('picky'), 29)
    expect((await world.deliveries('picky')).counts.delivered).toBe(28)
  })
})

describe('a clock', () => {
  test('that is set back and forth loses and repeats nothing', async () => {
    world.endpoint('all', ({ attempt, sequence }) =>
      answered(attempt === 1 && sequence % 3 === 0 ? 503 : 200),
    )
    await world.subscribe('all')
    await world.start()
    for (const step of [0, -2 * HOUR_MS, 5 * HOUR_MS, -HOUR_MS, 26 * HOUR_MS, -20 * HOUR_MS]) {
      world.time.step(step)
      await world.verdicts(3)
      await world.time.pass(3_000)
    }
    world.time.step(30 * HOUR_MS)
    await world.time.pass(10_000)
    expectWhole(world.posts, 18)
    // Each third was tried twice, and nothing else.
    expect(world.posts).toHaveLength(24)
  })
})

describe('several processes', () => {
  test('share the endpoints; what one leaves another takes over, and nobody sends what was recorded', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `e${index}`)
    for (const name of names) await world.subscribe(name, { accountId: anId(`owner ${name}`) })
    const one = await world.start({ shares: true })
    const two = await world.start({ relays: false, shares: true })
    await world.time.pass(10_000)
    const shares = [one, two].map(({ dispatcher }) => dispatcher.health().shards.length)
    expect(shares).toEqual([2, 2])
    await world.verdicts(5)
    await world.time.pass(2_000)
    await one.stop()
    await world.verdicts(5)
    await world.time.pass(20_000)
    for (const name of names) expect(world.sequences(name)).toEqual(upTo(10))
  })

  test('fence one that was frozen: what it sent is sent again by the other, and nothing of it is recorded', async () => {
    const frozen = Promise.withResolvers<void>()
    let isFrozen = false
    const thaw = async (): Promise<void> => (isFrozen ? frozen.promise : undefined)
    const sleep: typeof world.time.sleep = async (milliseconds, signal) => {
      await world.time.sleep(milliseconds, signal)
      await thaw()
    }
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await world.subscribe(name, { accountId: anId(`owner ${name}`) })
      world.endpoint(name, async () => {
        await thaw()
        return answered(200)
      })
    }
    const store = {
      ...world.store,
      append: async (...append: Parameters<typeof world.store.append>) => {
        await thaw()
        return world.store.append(...append)
      },
    }
    const bus = { ...world.bus, listen: () => undefined }
    await world.start({ relays: false, shares: true, sleep, store, bus })
    await world.time.pass(3_000)
    isFrozen = true
    await world.verdicts(3)
    await world.time.pass(2_000)
    const answers = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const name of answers) world.endpoint(name, () => answered(200))
    await world.start({ shares: true })
    await world.time.pass(30_000)
    for (const name of answers) expect(new Set(world.sequences(name))).toEqual(new Set([1, 2, 3]))
    isFrozen = false
    frozen.resolve()
    await world.time.pass(30_000)
    await world.verdicts(2)
    await world.time.pass(5_000)
    for (const name of answers) {
      expectWhole(world.postsTo(name), 5)
      expect((await world.deliveries(name)).cursor.sequence).toBe(6)
    }
  })
})
