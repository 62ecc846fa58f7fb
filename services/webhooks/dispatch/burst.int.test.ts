import { describe, expect, test } from 'vitest'
import type { EventStore } from '../../log/event-store.ts'
import { anId } from '../signals/testing/signal-log.fixture.ts'
import { answered, useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'
import { expectWhole } from './testing/expect-whole.fixture.ts'
import { createLogDirectory } from './testing/log-directory.fixture.ts'

useDispatchWorld()

/** The store of the world, which counts what is read from the log as a whole. */
function counting(store: EventStore): { readonly store: EventStore; readonly events: () => number } {
  let events = 0
  async function* readAll(...given: Parameters<EventStore['readAll']>) {
    for await (const event of store.readAll(...given)) {
      events += 1
      yield event
    }
  }
  return { store: { ...store, readAll }, events: () => events }
}

describe('more signals at once than an endpoint keeps in memory', () => {
  const ENDPOINTS = 36
  const SIGNALS = 330

  /** Endpoints that take a while for each, all the same. */
  async function subscribeMany(takesMs: number): Promise<void> {
    for (let n = 0; n < ENDPOINTS; n++) {
      world.endpoint(`many-${n}`, async (_, signal) => {
        await world.time.sleep(takesMs, signal ?? new AbortController().signal)
        return answered(200)
      })
      // As many accounts as their plans need for so many.
      const accountId = anId(`owner ${n % 4}`)
      await world.subscribe(`many-${n}`, { accountId, filter: { assets: ['BTC'] } })
    }
  }

  test('are read once for all endpoints that only wait for their turn', async () => {
    await subscribeMany(10)
    const counted = counting(world.store)
    await world.start({ store: counted.store })
    await world.verdicts(1)
    await world.time.pass(200, 10)
    const before = counted.events()
    await world.verdicts(SIGNALS)
    for (let left = 400; left > 0 && world.posts.length < ENDPOINTS * (SIGNALS + 1); left--) {
      await world.time.pass(20, 10)
    }
    for (let n = 0; n < ENDPOINTS; n++) expectWhole(world.postsTo(`many-${n}`), SIGNALS + 1)
    expect(counted.events() - before).toBeLessThan(5 * SIGNALS)
  })

  test('do not keep what comes due meanwhile', async () => {
    await subscribeMany(1_000)
    world.endpoint('picky', ({ attempt }) => answered(attempt === 1 ? 500 : 200))
    await world.subscribe('picky', { filter: { assets: ['ETH'] } })
    // Nothing but the clock says that there is something to look at.
    await world.start({ relays: false })
    await world.verdicts(1, { coin: 'ETH' })
    await world.verdicts(1)
    await world.time.pass(2_000)
    await world.verdicts(SIGNALS)
    await world.time.pass(10_000)
    // More is left than a queue holds, so that the way through the log is not at its end.
    expect(world.postsTo('many-0').length).toBeLessThan(100)
    expect(world.postsTo('picky').map(({ attempt }) => attempt)).toEqual([1, 2])
  })

  test('do not keep who is removed meanwhile from being let go within a second or two', async () => {
    await subscribeMany(1_000)
    await world.start({ relays: false })
    await world.verdicts(1)
    await world.time.pass(2_000)
    await world.verdicts(SIGNALS)
    await world.time.pass(4_000)
    await world.say('many-0', 'SubscriptionRemoved', { reason: 'deleted' })
    await world.time.pass(2_000)
    const sent = world.postsTo('many-0').length
    await world.time.pass(20_000)
    expect(world.postsTo('many-0')).toHaveLength(sent)
    expect(sent).toBeLessThan(100)
  })
})

describe('endpoints that are behind', () => {
  const ENDPOINTS = 60
  const SIGNALS = 300

  async function whole(): Promise<void> {
    for (let n = 0; n < ENDPOINTS; n++) expectWhole(world.postsTo(`many-${n}`), SIGNALS)
  }

  test('at the start read the log once for all, and then go along with the tail', async () => {
    for (let n = 0; n < ENDPOINTS; n++) await world.subscribe(`many-${n}`, { accountId: anId(`owner ${n}`) })
    await world.verdicts(SIGNALS)
    const counted = counting(world.store)
    const { dispatcher } = await world.start({
      store: counted.store,
      directory: createLogDirectory(world.store),
    })
    for (let left = 60; left > 0 && world.posts.length < ENDPOINTS * SIGNALS; left--)
      await world.time.pass(1_000, 100)
    await whole()
    await world.time.pass(5_000)
    expect(dispatcher.health().shards.every(({ behind }) => behind === 0)).toBe(true)
    // Each keeps 256 in memory: a second look, and what is read in front of those that stand further on.
    expect(counted.events()).toBeLessThan(10 * SIGNALS)
  })

  test('because all of them were slow at once read it together when they are well again', async () => {
    let isSlow = false
    for (let n = 0; n < ENDPOINTS; n++) {
      world.endpoint(`many-${n}`, async (_, signal) => {
        if (isSlow) await world.time.sleep(5_000, signal ?? new AbortController().signal)
        return answered(200)
      })
      await world.subscribe(`many-${n}`, { accountId: anId(`owner ${n}`) })
    }
    const counted = counting(world.store)
    await world.start({ store: counted.store, directory: createLogDirectory(world.store) })
    isSlow = true
    await world.verdicts(SIGNALS)
    await world.time.pass(30_000)
    isSlow = false
    for (let left = 60; left > 0 && world.posts.length < ENDPOINTS * SIGNALS; left--)
      await world.time.pass(1_000, 100)
    await whole()
    expect(counted.events()).toBeLessThan(20 * SIGNALS)
  })
})
