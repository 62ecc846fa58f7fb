import { describe, expect, test } from 'vitest'
import type { EventStore } from '../../log/event-store.ts'
import { useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'
import { expectWhole } from './testing/expect-whole.fixture.ts'

const HOUR_MS = 3_600_000

useDispatchWorld()

const resume = { from: 'cursor', after: null } as const

describe.each(['SubscriptionPaused', 'SubscriptionDisabled'] as const)('resumed behind a %s', (stop) => {
  test.each([
    ['with one that is quiet beside it', 'quiet', false],
    ['with one that stands paused beside it', 'paused', false],
    ['alone', 'alone', false],
    ['in a process that shares the work', 'quiet', true],
  ])('it is sent everything after a restart, %s', async (_, beside, shares) => {
    if (beside !== 'alone') await world.subscribe('other', { filter: { assets: ['XRP'] } })
    await world.subscribe('bot')
    const first = await world.start({ shares })
    await world.time.pass(3_000)
    await world.verdicts(3)
    await world.time.pass(2_000)
    if (beside === 'paused') await world.say('other', 'SubscriptionPaused', { reason: 'by its owner' })
    await world.time.pass(60_000)
    await world.say('bot', stop, { reason: 'maintenance' })
    await world.time.pass(2_000)
    await world.say('bot', 'SubscriptionResumed', resume)
    await world.verdicts(2)
    await world.time.pass(5 * 60_000, 5_000)
    await first.stop()
    const second = await world.start({ shares })
    await world.time.pass(15_000)
    await world.verdicts(4)
    await world.time.pass(15_000)
    expectWhole(world.postsTo('bot'), 9)
    expect(second.dispatcher.health().shards.every(({ behind }) => behind === 0)).toBe(true)
    // A pause behind the restart is obeyed all the same.
    await world.say('bot', stop, { reason: 'maintenance' })
    await world.time.pass(2_000)
    await world.verdicts(2)
    await world.time.pass(HOUR_MS, 60_000)
    expect(world.sequences('bot')).toHaveLength(9)
  })
})

test('resumed while the feed is still in front of its pause, it is sent everything', async () => {
  const held: Promise<void>[] = []
  /** The feed is slow, and nothing else is. */
  const store: EventStore = {
    ...world.store,
    async *readAll(options) {
      const isPass = options?.filter?.types?.includes('SubscriptionPaused') === true
      for await (const event of world.store.readAll(options)) {
        if (isPass && event.type === 'VerdictRecorded') await Promise.all(held)
        yield event
      }
    },
  }
  await world.subscribe('bot')
  await world.start({ store })
  await world.verdicts(2)
  await world.time.pass(5_000)
  const { promise, resolve } = Promise.withResolvers<void>()
  held.push(promise)
  await world.verdicts(3)
  await world.time.pass(1_000)
  expect(world.sequences('bot')).toEqual([1, 2])
  await world.say('bot', 'SubscriptionPaused', { reason: 'maintenance' })
  await world.say('bot', 'SubscriptionResumed', resume)
  await world.time.pass(1_000)
  resolve()
  await world.time.pass(5_000)
  await world.verdicts(5)
  await world.time.pass(5_000)
  expectWhole(world.postsTo('bot'), 10)
})
