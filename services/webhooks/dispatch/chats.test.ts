import { expect, test } from 'vitest'
import type { SendOutcome } from '../sending/sender.ts'
import { answered, useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'

useDispatchWorld()

const textOf = (post: { readonly body: object }): string =>
  String((post.body as { content?: string }).content)

test('a channel that asks for quiet has it whole, and then gets all, and others meanwhile lose nothing', async () => {
  const quiet: SendOutcome = {
    ...answered(429),
    detail: '{"ok":false,"parameters":{"retry_after":20}}',
  }
  world.endpoint('chat', () => (world.postsTo('chat').length === 2 ? quiet : answered(200)))
  await world.subscribe('chat', { form: 'telegram', filter: { events: ['trade_call'] } })
  await world.subscribe('plain', { filter: { events: ['trade_call'] } })
  await world.start()
  await world.verdicts(5)
  for (let n = 0; n < 5; n++) await world.time.pass(1_000)
  expect(world.sequences('chat')).toEqual([1, 2])
  expect(world.sequences('plain')).toEqual([1, 2, 3, 4, 5])
  for (let n = 0; n < 40; n++) await world.time.pass(1_000)
  const [, refused, next] = world.postsTo('chat')
  expect((next?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(20_000)
  expect(world.sequences('chat').toSorted((a, b) => a - b)).toEqual([1, 2, 2, 3, 4, 5])
  expect((await world.deliveries('chat')).open.size).toBe(0)
  expect(await world.told('chat')).toEqual(['SubscriptionCreated'])
})

test('messages come one after the other, and keep their words when they are tried and sent again', async () => {
  world.endpoint('chat', (post) => answered(post.attempt === 1 && post.sequence === 1 ? 500 : 204))
  await world.subscribe('chat', { form: 'discord', filter: { events: ['trade_call'] } })
  const before = await world.start()
  await world.verdicts(1)
  await world.time.pass(1_000)
  await before.stop()
  await world.start()
  for (let n = 0; n < 10; n++) await world.time.pass(1_000)
  const replayId = world.newId()
  await world.say('chat', 'ReplayRequested', { replayId, fromSequence: 1, toSequence: 1 })
  for (let n = 0; n < 5; n++) await world.time.pass(1_000)
  const posts = world.postsTo('chat')
  expect(posts).toHaveLength(3)
  expect(new Set(posts.map(({ sha256 }) => sha256)).size).toBe(1)
  expect(textOf(posts[0] ?? { body: {} })).toContain('<https://signals.example.com/series/SIM/BTC/1h>')
})

/** Seconds, one after the other. */
const seconds = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await world.time.pass(1_000)
}
const CHANNEL = 'https://chat.example.com/'

test('two subscriptions of one channel tell it one message at a time, in turns, and rest together', async () => {
  let isQuiet = false
  world.endpoint('chat', () => (isQuiet ? answered(429, 30_000) : answered(200)))
  await world.subscribe('one', { form: 'slack', url: CHANNEL, filter: { events: ['trade_call'] } })
  await world.subscribe('two', { form: 'slack', url: CHANNEL, filter: { events: ['trade_call'] } })
  await world.start()
  await world.verdicts(4)
  await seconds(30)
  const times = world.postsTo('chat').map(({ at }) => at)
  expect(times).toHaveLength(8)
  for (const [n, at] of times.slice(1).entries()) expect(at - (times[n] ?? 0)).toBeGreaterThanOrEqual(1_000)
  expect(world.sequences('chat').filter((sequence) => sequence === 4)).toHaveLength(2)

  isQuiet = true
  await world.verdicts(1)
  await seconds(3)
  isQuiet = false
  const refused = world.postsTo('chat').length
  expect(refused).toBe(9)
  await seconds(20)
  expect(world.postsTo('chat')).toHaveLength(refused)
  await seconds(30)
  expect(world.sequences('chat').filter((sequence) => sequence === 5)).toHaveLength(3)
})

test('what a channel asked for is kept over a restart, by whoever of its subscriptions was refused', async () => {
  world.endpoint('chat', () => answered(429, 120_000))
  await world.subscribe('one', { form: 'discord', url: CHANNEL, filter: { events: ['trade_call'] } })
  const before = await world.start()
  await world.verdicts(1)
  await seconds(1)
  await before.stop()
  const asked = world.postsTo('chat').length
  await world.subscribe('two', { form: 'discord', url: CHANNEL, filter: { events: ['trade_call'] } })
  world.endpoint('chat', () => answered(204))
  await world.start()
  await seconds(5)
  await world.verdicts(1)
  await seconds(60)
  expect(world.postsTo('chat')).toHaveLength(asked)
  await seconds(120)
  expect(world.postsTo('chat').length).toBeGreaterThan(asked)
  expect((await world.deliveries('one')).open.size).toBe(0)
})

test.each([
  ['discord', 404],
  ['slack', 410],
  ['telegram', 403],
] as const)(
  '%s that answers %i was removed there: nothing is tried again, and its owner is told',
  async (form, status) => {
    world.endpoint('chat', () => answered(status))
    await world.subscribe('one', { form, url: CHANNEL, filter: { events: ['trade_call'] } })
    await world.subscribe('plain', { filter: { events: ['trade_call'] } })
    await world.start()
    await world.verdicts(3)
    await seconds(120)
    expect(world.postsTo('chat')).toHaveLength(1)
    expect(await world.told('one')).toEqual(['SubscriptionCreated', 'SubscriptionDisabled'])
    expect(world.notices.some((notice) => notice.startsWith('disabled'))).toBe(true)
    expect(world.sequences('plain')).toEqual([1, 2, 3])
    // Mended there and resumed, it gets all of it.
    world.endpoint('chat', () => answered(200))
    await world.say('one', 'SubscriptionResumed', { from: 'cursor', after: null })
    await seconds(60)
    expect(new Set(world.sequences('chat'))).toEqual(new Set([1, 2, 3]))
  },
)
