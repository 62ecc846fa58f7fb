import { describe, expect, test } from 'vitest'
import { START } from '../../../contracts/infra/position.ts'
import { anId } from '../signals/testing/signal-log.fixture.ts'
import { useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'
import { createLogDirectory } from './testing/log-directory.fixture.ts'

useDispatchWorld()

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const start = (mailbox?: string) =>
  world.start({ directory: createLogDirectory(world.store, 'free', mailbox) })

/** Most POSTs in a minute of the clock, and in a day of it. */
function most(): { minute: number; day: number } {
  const count = (lengthMs: number): number => {
    const windows = world.posts.map(({ at }) => Math.floor(at / lengthMs))
    return Math.max(...[...new Set(windows)].map((one) => windows.filter((at) => at === one).length))
  }
  return { minute: count(MINUTE_MS), day: count(DAY_MS) }
}

describe('a free account is sent 110 a minute and 2,900 a day beside its tests, and the rest waits', () => {
  test.each([
    ['by several subscriptions, over a restart', async () => undefined],
    [
      'by one that is sent everything again',
      () => world.say('a', 'SubscriptionResumed', { from: 'since', after: START }),
    ],
  ])('%s', async (_, then) => {
    await world.verdicts(1_700)
    // Two accounts of one mailbox.
    for (const name of ['a', 'b']) await world.subscribe(name, { startAfter: START, accountId: anId(name) })
    const first = await start('ada@example.com')
    await world.time.pass(5 * MINUTE_MS, 1_000)
    expect(most().minute).toBe(110)
    await then()
    await world.time.pass(20 * MINUTE_MS, 1_000)
    await first.stop()
    const second = await start('ada@example.com')
    await world.time.pass(15 * MINUTE_MS, 1_000)
    expect(most()).toEqual({ minute: 110, day: 2_900 })
    expect(second.dispatcher.health().longBehind).toBe(0)
    await world.time.pass(DAY_MS / 2, MINUTE_MS)
    await world.time.pass(15 * MINUTE_MS, 1_000)
    expect((await world.deliveries('b')).counts.delivered).toBe(1_700)
  })
})

test('a free account is sent 110 a minute by two processes together', async () => {
  await world.verdicts(200)
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  for (const name of names) await world.subscribe(name, { startAfter: START })
  const directory = createLogDirectory(world.store, 'free')
  const running = [
    await world.start({ directory, shares: true }),
    await world.start({ directory, shares: true }),
  ]
  await world.time.pass(5 * MINUTE_MS, 500)
  const shards = running.map(({ dispatcher }) => dispatcher.health().shards.length)
  expect(Math.min(...shards)).toBeGreaterThan(0)
  expect(most().minute).toBe(110)
})

test('free accounts share the minute of a host in turns, and one that comes later has its turn', async () => {
  await world.verdicts(400)
  const url = (name: string) => ({
    url: `https://shared.example.com/${name}`,
    accountId: anId(`owner ${name}`),
  })
  for (let n = 0; n < 8; n++) await world.subscribe(`s${n}`, { startAfter: START, ...url(`s${n}`) })
  await start()
  await world.time.pass(MINUTE_MS, 500)
  await world.subscribe('late', { startAfter: START, ...url('late') })
  const before = world.posts.length
  expect(before).toBeLessThanOrEqual(600)
  await world.time.pass(3_000, 500)
  expect(world.posts.some((post) => post.url.endsWith('late'))).toBe(true)
  await world.time.pass(MINUTE_MS - 3_000, 500)
  const since = world.posts.slice(before)
  expect(since.length).toBeLessThanOrEqual(480)
  const each = Array.from({ length: 8 }, (_, n) => since.filter((post) => post.url.endsWith(`s${n}`)).length)
  expect(Math.max(...each) - Math.min(...each)).toBeLessThanOrEqual(3)
  // Its owner can read why: the wait stands in the delivery log.
  expect((await world.deliveries('s0')).hostWaitMs).toBeGreaterThan(500)
})
