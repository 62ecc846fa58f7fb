import { describe, expect, test } from 'vitest'
import { answered, unreachable, useDispatchWorld, world } from './testing/dispatch-world.fixture.ts'

useDispatchWorld()

const OTHER = 'https://other.example.com/'
const move = (name: string) =>
  world.say(name, 'EndpointChanged', {
    sealedUrl: OTHER,
    sending: { perSecond: null, inOrder: false },
  })
const ordered = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b)
const seconds = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await world.time.pass(1_000)
}

describe('an address that its owner changed', () => {
  test('gets what waited for another try, with the same ids and bodies, at once', async () => {
    world.endpoint('bot', () => answered(500))
    await world.subscribe('bot', { filter: { events: ['trade_call'] } })
    await world.start()
    await world.verdicts(3)
    await seconds(3)
    const before = world.postsTo('bot')
    expect(new Set(before.map(({ sequence }) => sequence))).toEqual(new Set([1, 2, 3]))
    await move('bot')
    await seconds(1)
    expect(ordered(world.sequences('other'))).toEqual([1, 2, 3])
    await world.verdicts(1)
    await seconds(2)
    expect(world.postsTo('bot')).toHaveLength(before.length)
    expect(ordered(world.sequences('other'))).toEqual([1, 2, 3, 4])
    for (const { sequence, deliveryId, sha256 } of world.postsTo('other').slice(0, 3))
      expect(before.find((one) => one.sequence === sequence)).toMatchObject({ deliveryId, sha256 })
    expect((await world.deliveries('bot')).open.size).toBe(0)
  })

  test('is not blamed for what the former one answers late, and nothing begun there counts', async () => {
    const late = Promise.withResolvers<void>()
    world.endpoint('bot', async () => {
      await late.promise
      return unreachable
    })
    await world.subscribe('bot', { filter: { events: ['trade_call'] } })
    await world.start()
    await world.verdicts(4)
    await seconds(1)
    await move('bot')
    await seconds(2)
    late.resolve()
    await seconds(10)
    expect(ordered(world.sequences('other'))).toEqual([1, 2, 3, 4])
    expect(await world.told('bot')).toEqual(['SubscriptionCreated', 'EndpointChanged'])
    expect(world.postsTo('other').map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1])
    expect((await world.deliveries('bot')).counts).toMatchObject({ delivered: 4, failed: 0 })
  })

  test('after one that failed is sent to as a working one', async () => {
    world.endpoint('bot', () => unreachable)
    await world.subscribe('bot', { filter: { events: ['trade_call'] } })
    await world.start()
    await world.verdicts(5)
    await seconds(60)
    expect((await world.deliveries('bot')).failuresInARow).toBeGreaterThan(5)
    const tried = world.postsTo('bot').length
    await move('bot')
    await seconds(10)
    expect(world.postsTo('bot')).toHaveLength(tried)
    expect(new Set(world.sequences('other'))).toEqual(new Set([1, 2, 3, 4, 5]))
  })

  test('is the one that a process which starts later sends to', async () => {
    await world.subscribe('bot', { filter: { events: ['trade_call'] } })
    await move('bot')
    await world.verdicts(2)
    await world.start()
    await seconds(3)
    expect([world.sequences('bot'), world.sequences('other')]).toEqual([[], [1, 2]])
  })
})

test('an endpoint gets no more in any second than its owner chose, retries and a backlog included, and loses nothing', async () => {
  world.endpoint('bot', ({ attempt, sequence }) => answered(sequence % 3 === 0 && attempt === 1 ? 500 : 200))
  await world.subscribe('bot', { filter: { events: ['trade_call'] }, sending: { perSecond: 4 } })
  await world.subscribe('free', { filter: { events: ['trade_call'] } })
  await world.start()
  await world.verdicts(30)
  for (let n = 0; n < 500; n++) await world.time.pass(50)
  const times = world.postsTo('bot').map(({ at }) => at)
  for (const [n, at] of times.slice(4).entries()) expect(at - (times[n] ?? 0)).toBeGreaterThanOrEqual(1_000)
  expect(new Set(world.sequences('bot')).size).toBe(30)
  expect((await world.deliveries('bot')).open.size).toBe(0)
  expect(world.postsTo('free')[29]?.at).toBeLessThan(times[29] ?? 0)
  // What its owner chooses later holds from then on.
  await world.say('bot', 'EndpointChanged', {
    sealedUrl: 'https://bot.example.com/',
    sending: { perSecond: null, inOrder: false },
  })
  const begun = world.postsTo('bot').length
  await world.verdicts(8)
  await seconds(1)
  expect(world.postsTo('bot').length - begun).toBeGreaterThanOrEqual(8)
})

describe('an endpoint that wants one after the other', () => {
  const inOrder = { perSecond: null, inOrder: true }
  const firsts = (name: string): number[] => [...new Set(world.sequences(name))]

  test('gets the next once the one before was taken, over failures, a time of probes and a restart', async () => {
    let refused = 0
    world.endpoint('bot', ({ sequence }) => {
      const taken = world.postsTo('bot').filter((one) => one.sequence === sequence).length
      return sequence % 4 === 0 && taken <= 6 && ++refused > 0 ? answered(500) : answered(200)
    })
    await world.subscribe('bot', { filter: { events: ['trade_call'] }, sending: inOrder })
    let running = await world.start()
    await world.verdicts(10)
    await seconds(20)
    expect(firsts('bot')).toEqual([1, 2, 3, 4])
    await running.stop()
    running = await world.start()
    await world.verdicts(6)
    await world.time.pass(4 * 3_600_000, 20_000)
    expect(refused).toBeGreaterThan(10)
    expect(firsts('bot')).toEqual(Array.from({ length: 16 }, (_, n) => n + 1))
    const posts = world.sequences('bot')
    expect(posts).toEqual(posts.toSorted((a, b) => a - b))
    expect((await world.deliveries('bot')).open.size).toBe(0)
  })

  test('has it from its choice on, of what failed before too', async () => {
    let isWell = false
    world.endpoint('bot', ({ sequence }) =>
      answered(isWell || ![2, 3].includes(sequence) ? 200 : sequence === 2 ? 422 : 500),
    )
    await world.subscribe('bot', { filter: { events: ['trade_call'] } })
    await world.start()
    await world.verdicts(4)
    await seconds(1)
    await world.say('bot', 'EndpointChanged', { sealedUrl: 'https://bot.example.com/', sending: inOrder })
    const before = world.posts.length
    await world.verdicts(4)
    await seconds(120)
    expect(new Set(world.sequences('bot').slice(before))).toEqual(new Set([2]))
    isWell = true
    await world.time.pass(3_600_000, 10_000)
    expect(firsts('bot')).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  test.each([['failing'], ['recovered']])('has it of several that failed before, %s', async (how) => {
    const fails = (): number => (how === 'failing' ? 503 : 422)
    let isWell = false
    world.endpoint('bot', () => answered(isWell ? 200 : fails()))
    await world.subscribe('bot', { filter: { events: ['trade_call'] } })
    await world.start()
    await world.verdicts(6)
    if (how === 'failing') await seconds(25)
    else await world.time.pass(60 * 3_600_000, 60_000)
    const since = new Date(world.time.now()).getTime() - 60 * 3_600_000
    await world.say('bot', 'EndpointChanged', { sealedUrl: 'https://bot.example.com/', sending: inOrder })
    if (how === 'recovered') await world.say('bot', 'RecoveryRequested', { since })
    else await seconds(25)
    isWell = true
    const before = world.posts.length
    await world.time.pass(3_600_000, 1_000)
    expect(world.sequences('bot').slice(before)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('goes on after one that was given up', async () => {
    world.endpoint('bot', ({ sequence }) => answered(sequence === 2 ? 422 : 200))
    await world.subscribe('bot', { filter: { events: ['trade_call'] }, sending: inOrder })
    await world.start()
    await world.verdicts(4)
    await world.time.pass(60 * 3_600_000, 60_000)
    expect(firsts('bot')).toEqual([1, 2, 3, 4])
    expect((await world.deliveries('bot')).counts).toMatchObject({ delivered: 3, exhausted: 1 })
  })
})

test('an endpoint that takes long is not held up by its rate', async () => {
  world.endpoint('bot', async (_post, signal) => {
    await world.time.sleep(300, signal ?? new AbortController().signal)
    return answered(200)
  })
  await world.subscribe('bot', { filter: { events: ['trade_call'] }, sending: { perSecond: 4 } })
  await world.start()
  await world.verdicts(10)
  for (let n = 0; n < 50; n++) await world.time.pass(50)
  expect(world.sequences('bot')).toHaveLength(10)
})
