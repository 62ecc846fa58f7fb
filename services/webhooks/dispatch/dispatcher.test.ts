import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import type { SendOutcome } from '../sending/sender.ts'
import { anId } from '../signals/testing/signal-log.fixture.ts'
import { answered, useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'
import { expectWhole, upTo } from './testing/expect-whole.fixture.ts'

useDispatchWorld()

describe('a signal', () => {
  test('is sent to whoever asked for it, once, with its number', async () => {
    await world.subscribe('all')
    await world.subscribe('eth', { filter: { assets: ['ETH'] } })
    await world.start()
    await world.verdicts(2)
    await world.verdicts(1, { call: 'HOLD' })
    await world.verdicts(1, { coin: 'ETH' })
    await world.time.idle()
    expect(world.sequences('all')).toEqual([1, 2, 3])
    expect(world.sequences('eth')).toEqual([1])
    expect(await world.deliveries('all')).toMatchObject({ cursor: { sequence: 4 }, counts: { delivered: 3 } })
  })

  test.each(Array.from({ length: 10 }, (_, index) => index + 1))(
    'beside another of the same verdict keeps its number, place and bytes over a kill behind POST %i',
    async (last) => {
      await world.subscribe('all')
      await world.verdicts(5, { shifts: true })
      const first = await world.start({ isMortal: true })
      world.endpoint('https://all.example.com/', () => {
        if (world.posts.length === last) first.mortal?.kill()
        return answered(200)
      })
      await world.time.pass(5_000)
      await first.stop()
      world.endpoint('https://all.example.com/', () => answered(200))
      await world.start()
      await world.time.pass(20_000)
      expectWhole(world.postsTo('all'), 10)
      const said = new Map(world.postsTo('all').map(({ sequence, body }) => [sequence, body.event]))
      expect(upTo(10).map((sequence) => said.get(sequence))).toEqual(
        Array.from({ length: 5 }, () => ['trade_call', 'regime_shift']).flat(),
      )
      expect(await world.deliveries('all')).toMatchObject({ cursor: { sequence: 11 } })
    },
  )

  test('is sent with the trace context of what caused it', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await world.subscribe('all')
    await world.start()
    await world.verdicts(1, { traceparent })
    await world.verdicts(1, { traceparent: 'none of\r\nthe kind' })
    await world.time.idle()
    expect(world.posts.map(({ headers }) => headers.traceparent)).toEqual([traceparent, undefined])
  })

  test('that the bus did not tell of is found in the log within a second', async () => {
    await world.subscribe('all')
    await world.start({ relays: false })
    await world.verdicts(1)
    await world.time.idle()
    expect(world.posts).toEqual([])
    await world.time.pass(1_000)
    expect(world.sequences('all')).toEqual([1])
  })

  test('is found within a second also where timers end early', async () => {
    const { time } = world
    const sleep = (milliseconds: number, signal: AbortSignal) =>
      time.sleep(Math.max(10, milliseconds - 10), signal)
    await world.subscribe('all')
    await world.start({ relays: false, sleep })
    await world.verdicts(1)
    await time.pass(1_050, 10)
    expect(world.sequences('all')).toEqual([1])
  })

  test('of the past goes to who subscribed from there, and to who subscribed while nobody dispatched', async () => {
    await world.verdicts(3)
    await world.subscribe('past', { startAfter: 'start' })
    await world.subscribe('now')
    await world.verdicts(2)
    await world.start()
    await world.time.pass(2_000)
    expect(world.sequences('past')).toEqual([1, 2, 3, 4, 5])
    expect(world.sequences('now')).toEqual([1, 2])
    await world.subscribe('late', { startAfter: 'start' })
    await world.time.pass(2_000)
    await world.verdicts(1)
    await world.time.pass(1_000)
    expect(world.sequences('late')).toEqual(upTo(6))
    expect(world.sequences('past')).toEqual(upTo(6))
  })

  test('is not sent again after a restart, and what came meanwhile is', async () => {
    await world.subscribe('all')
    const first = await world.start()
    await world.verdicts(3)
    await world.time.idle()
    await first.stop()
    await world.verdicts(2)
    await world.start()
    await world.time.pass(1_000)
    expect(world.sequences('all')).toEqual(upTo(5))
  })
})

describe('an owner', () => {
  test('who pauses gets nothing until it is resumed, and then everything', async () => {
    await world.subscribe('all')
    await world.start()
    await world.verdicts(2)
    await world.time.idle()
    await world.say('all', 'SubscriptionPaused', { reason: 'maintenance' })
    await world.time.idle()
    await world.verdicts(3)
    await world.time.pass(5_000)
    expect(world.sequences('all')).toEqual([1, 2])
    await world.say('all', 'SubscriptionResumed', { from: 'cursor', after: null })
    await world.time.pass(5_000)
    expect(world.sequences('all')).toEqual(upTo(5))
  })

  test('who resumes from now on leaves out what lies between, and the numbers go on', async () => {
    await world.subscribe('all')
    await world.start()
    await world.verdicts(2)
    await world.time.idle()
    await world.say('all', 'SubscriptionPaused', { reason: 'maintenance' })
    await world.verdicts(3)
    const head = await world.store.head()
    await world.say('all', 'SubscriptionResumed', { from: 'now', after: head })
    await world.verdicts(1, { coin: 'ETH' })
    await world.time.pass(5_000)
    expect(world.sequences('all')).toEqual([1, 2, 3])
    expect(world.postsTo('all').at(-1)?.body.data.coin).toBe('ETH')
  })

  test('who removes gets no POST that begins after the removal was read', async () => {
    const held = Promise.withResolvers<SendOutcome>()
    world.endpoint('all', () => held.promise)
    await world.subscribe('all')
    const { dispatcher } = await world.start()
    await world.verdicts(10)
    await world.time.idle()
    const begun = world.posts.length
    await world.say('all', 'SubscriptionRemoved', { reason: 'deleted' })
    await world.time.pass(1_000)
    held.resolve(answered(200))
    await world.time.pass(10_000)
    expect(world.posts).toHaveLength(begun)
    expect(dispatcher.health().shards.map(({ subscriptions }) => subscriptions)).toEqual([0, 0, 0, 0])
  })

  test('who changes the filter has it from there on', async () => {
    await world.subscribe('all')
    await world.start()
    await world.verdicts(1)
    await world.say('all', 'SubscriptionChanged', {
      filter: { ...(await filterOf('all')), assets: ['ETH'] },
    })
    await world.verdicts(2)
    await world.verdicts(1, { coin: 'ETH' })
    await world.time.pass(2_000)
    expect(world.postsTo('all').map(({ body }) => body.data.coin)).toEqual(['BTC', 'ETH'])
  })

  async function filterOf(name: string): Promise<object> {
    for await (const { data } of world.store.read(`subscription-${anId(name)}`)) return data.filter as object
    return {}
  }
})

describe('an endpoint that is slow', () => {
  test('holds up nobody, and catches up from the log in order', async () => {
    const gate = Promise.withResolvers<void>()
    world.endpoint('slow', async () => {
      await gate.promise
      return answered(200)
    })
    await world.subscribe('slow')
    await world.subscribe('quick')
    const { dispatcher } = await world.start()
    const many = 512
    await world.verdicts(many)
    await world.time.pass(3_000)
    expect(world.postsTo('quick')).toHaveLength(many)
    expect(world.postsTo('slow').length).toBeLessThanOrEqual(LIMITS.webhookAttemptsPerEndpoint)
    const behind = (): number => dispatcher.health().shards.reduce((sum, shard) => sum + shard.behind, 0)
    expect(behind()).toBe(1)
    gate.resolve()
    await world.time.pass(5_000)
    expect(world.sequences('slow')).toEqual(upTo(many))
    await world.verdicts(1)
    await world.time.idle()
    expect(world.sequences('slow')).toHaveLength(many + 1)
    await world.time.pass(1_000)
    expect(behind()).toBe(0)
  })

  test('whose log takes nothing is not sent the same again and again', async () => {
    let isAway = false
    const store = {
      ...world.store,
      append: (...append: Parameters<typeof world.store.append>) => {
        const isDelivery = append[0].startsWith('delivery-')
        return isAway && isDelivery
          ? Promise.reject(new ServiceError('store_unavailable'))
          : world.store.append(...append)
      },
    }
    const { openDeliveryLogs } = await import('../deliveries/delivery-log.ts')
    const { now, sleep } = world.time
    const signal = new AbortController().signal
    const deliveries = openDeliveryLogs({ store, newId: world.newId, now, sleep, signal })
    await world.subscribe('all')
    await world.start({ deliveries })
    await world.verdicts(1)
    await world.time.idle()
    isAway = true
    await world.verdicts(500)
    await world.time.pass(30_000)
    const posts = world.posts.length
    expect(posts).toBeLessThan(100)
    expect(new Set(world.sequences('all')).size).toBe(posts)
    isAway = false
    await world.time.pass(10_000)
    expect(world.sequences('all').toSorted((a, b) => a - b)).toEqual(upTo(501))
  })
})
