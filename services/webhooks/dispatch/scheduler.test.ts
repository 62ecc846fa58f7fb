import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import type { Pace } from './endpoint-state.ts'
import { type Schedulable, Scheduler, type Turn } from './scheduler.ts'

/** An endpoint that always has something to send. */
interface Fake extends Schedulable {
  readonly name: string
  isBehind: boolean
  pace: Pace
}
const AT_ONCE = 128

const fake = (name: string, change: Partial<Fake> = {}): Fake => ({
  name,
  hasWork: true,
  pace: 'quick',
  isBehind: false,
  host: `https://${name}`,
  owner: name,
  ...change,
})

function aScheduler(most = AT_ONCE) {
  let nowMs = 0
  const room = { most, ended: () => undefined }
  const scheduler = new Scheduler<Fake>(() => nowMs, room, AT_ONCE)
  /** Offers all again and again, and takes as many turns as there are. */
  const fill = (...endpoints: readonly Fake[]): Turn<Fake>[] => {
    const turns: Turn<Fake>[] = []
    for (;;) {
      for (const endpoint of endpoints) scheduler.offer(endpoint)
      const turn = scheduler.take()
      if (turn === undefined) return turns
      turns.push(turn)
    }
  }
  return { scheduler, fill, pass: (milliseconds: number) => void (nowMs += milliseconds) }
}

const many = (count: number, change: (n: number) => Partial<Fake> = () => ({})): Fake[] =>
  Array.from({ length: count }, (_, n) => fake(`e${n}`, change(n)))
const namesOf = (turns: readonly Turn<Fake>[]): Set<string> =>
  new Set(turns.map(({ endpoint }) => endpoint.name))

describe('places', () => {
  test('are four for an endpoint that is quick, and one for any other', () => {
    const { fill } = aScheduler()
    expect(fill(fake('quick'))).toHaveLength(4)
    expect(fill(fake('slow', { pace: 'slow' }))).toHaveLength(1)
    expect(fill(fake('new', { pace: 'unproven' }))).toHaveLength(1)
  })

  test('are half at most for those that are slow or unproven, however many they are', () => {
    const { fill } = aScheduler()
    expect(fill(...many(500, (n) => ({ pace: n % 2 === 0 ? 'slow' : 'unproven' })))).toHaveLength(AT_ONCE / 2)
    expect(fill(...many(500))).toHaveLength(AT_ONCE / 2)
  })

  test('are as few for quick ones as there is room, half of those for one host, and the same for slow ones', () => {
    const room = 32
    expect(aScheduler(room).fill(...many(500))).toHaveLength(room)
    expect(aScheduler(room).fill(...many(500, () => ({ host: 'https://one' })))).toHaveLength(room / 2)
    const { fill } = aScheduler(room)
    expect(fill(...many(500, () => ({ pace: 'slow' })))).toHaveLength(AT_ONCE / 2)
    expect(fill(...many(500))).toHaveLength(room)
  })

  test.each([
    ['owner', { owner: 'one' }],
    ['host', { host: 'https://one' }],
  ])('of one %s are half at most of all, and an eighth where its endpoints are slow', (_, shared) => {
    const quick = aScheduler()
    expect(quick.fill(...many(500, () => shared))).toHaveLength(AT_ONCE / 2)
    expect(quick.fill(fake('other'))).toHaveLength(4)
    const slow = aScheduler()
    expect(slow.fill(...many(500, () => ({ ...shared, pace: 'slow' })))).toHaveLength(AT_ONCE / 8)
    expect(slow.fill(fake('other', { pace: 'slow' }))).toHaveLength(1)
  })

  test('that an owner gives back go to its endpoints that wait for them, each in its turn', () => {
    const { scheduler, fill } = aScheduler()
    const all = many(100, () => ({ owner: 'one' }))
    let turns = fill(...all)
    const seen = namesOf(turns)
    for (let round = 0; round < 10; round++) {
      for (const turn of turns) scheduler.done(turn)
      turns = fill(...all)
      for (const name of namesOf(turns)) seen.add(name)
    }
    expect(seen.size).toBe(100)
  })

  test('of attempts that take long go to others while they last, and to all once they end', () => {
    const { scheduler, fill, pass } = aScheduler()
    const turns = fill(...many(32))
    expect(turns).toHaveLength(AT_ONCE)
    const healthy = fake('healthy')
    expect(fill(healthy)).toHaveLength(0)
    pass(1_001)
    expect(namesOf(fill(healthy))).toEqual(new Set(['healthy']))
    for (const turn of turns) scheduler.done(turn)
    expect(fill(...many(32).map((one) => ({ ...one, owner: `${one.owner}'` })))).toHaveLength(AT_ONCE - 4)
  })
})

describe('turns', () => {
  test('follow on each other for as long as what ends is recorded together, and then go to others', () => {
    const { scheduler, fill, pass } = aScheduler()
    const all = many(AT_ONCE)
    let turns = fill(...all)
    const first = namesOf(turns)
    const endAll = (): void => {
      for (const turn of turns) {
        scheduler.done(turn)
        scheduler.offer(turn.endpoint)
      }
      turns = fill(...all)
    }
    endAll()
    expect(namesOf(turns)).toEqual(first)
    pass(LIMITS.webhookRecordMs)
    endAll()
    expect([...namesOf(turns)].filter((name) => first.has(name))).toEqual([])
  })

  test('of endpoints that are behind come after those that are not', () => {
    const { scheduler, fill } = aScheduler()
    const turns = fill(...many(200, () => ({ isBehind: true })))
    const live = many(20, (n) => ({ owner: `live ${n}` })).map((one) => ({
      ...one,
      name: `live ${one.name}`,
    }))
    for (const one of live) scheduler.offer(one)
    for (const turn of turns.slice(0, 40)) scheduler.done(turn)
    const next = Array.from({ length: 40 }, () => scheduler.take()?.endpoint.name ?? '')
    expect(next.filter((name) => name.startsWith('live'))).toHaveLength(40)
  })

  test('of an endpoint that was behind come at once when it is not any more', () => {
    const { scheduler, fill } = aScheduler()
    const turns = fill(...many(200, () => ({ isBehind: true })))
    const one = fake('one', { isBehind: true })
    scheduler.offer(one)
    one.isBehind = false
    scheduler.offer(one)
    for (const turn of turns.slice(0, 1)) scheduler.done(turn)
    expect(scheduler.take()?.endpoint.name).toBe('one')
  })

  test('come to everybody with every kind of work, also with all the places taken again and again', () => {
    const { scheduler, fill } = aScheduler()
    const kinds = many(300, (n) => ({
      isBehind: n % 3 === 0,
      pace: n % 5 === 0 ? 'slow' : 'quick',
      owner: `owner ${n % 7}`,
      host: `https://${n % 11}`,
    }))
    const seen = new Set<string>()
    let turns = fill(...kinds)
    for (let round = 0; round < 60; round++) {
      for (const turn of turns) scheduler.done(turn)
      turns = fill(...kinds)
      for (const name of namesOf(turns)) seen.add(name)
    }
    expect(seen.size).toBe(300)
    for (const turn of turns) scheduler.done(turn)
    expect(fill(...many(32).map((one) => ({ ...one, owner: `${one.owner}'` })))).toHaveLength(AT_ONCE)
  })
})
