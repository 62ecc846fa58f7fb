import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SendOutcome } from '../sending/sender.ts'
import { answered, DispatchWorld } from './testing/dispatch-world.fixture.ts'

let world: DispatchWorld
beforeEach(() => {
  world = new DispatchWorld()
})
afterEach(() => world.stopAll())

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
