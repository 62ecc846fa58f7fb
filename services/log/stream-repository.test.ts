import { beforeEach, describe, expect, test } from 'vitest'
import type { NewEvent } from '../../contracts/infra/event.ts'
import { createFaultyWorld, type FaultyWorld } from '../../testing/event-store/faulty-store.fixture.ts'
import { RETRY_FOR_CALLER } from './append-with-retry.ts'
import { createStreamRepository, type StreamRepository } from './stream-repository.ts'

const UNKNOWN = { what: 'it was added', again: 'Ask again.' }

let world: FaultyWorld
let sums: StreamRepository<number>
let evolved: number
beforeEach(() => {
  world = createFaultyWorld()
  evolved = 0
  sums = createStreamRepository({
    ...world,
    policy: RETRY_FOR_CALLER,
    signal: world.ending.signal,
    streamOf: (id) => `sum-${id}`,
    initial: 0,
    evolve: (sum, { data }) => {
      evolved += 1
      return sum + Number(data['n'])
    },
    keep: 2,
  })
})

const added = (n: number, id = world.newId()): NewEvent => ({
  id,
  type: 'Added',
  schema: 1,
  data: { n },
  meta: { correlationId: 'c', actor: 'a' },
})

const add = (id: string, n: number) =>
  sums.execute(id, (sum) => ({ events: [added(n)], result: sum + n }), UNKNOWN)

const addElsewhere = (n: number, expected: number | 'no-stream') =>
  world.others.append('sum-a', [added(n)], { expected })

describe('a stream repository', () => {
  test('decides over the fold of a stream, and reads what is new of it only', async () => {
    expect((await add('a', 1)).result).toBe(1)
    expect((await add('a', 2)).result).toBe(3)
    await addElsewhere(4, 1)
    expect(await sums.load('a')).toEqual({ state: 7, revision: 2 })
    expect(evolved).toBe(3)
  })

  test('folds an event once, also where a read past the end begins at the end, as EventStoreDB does', async () => {
    const inner = { ...world.store }
    world.store.read = async function* (stream, options) {
      const events = []
      for await (const event of inner.read(stream, options)) events.push(event)
      yield* events.length > 0 ? events : inner.read(stream, { direction: 'backwards', limit: 1 })
    }
    await add('a', 1)
    await add('a', 2)
    for (let n = 0; n < 3; n++) expect(await sums.load('a')).toEqual({ state: 3, revision: 1 })
    expect(evolved).toBe(2)
  })

  test('keeps so many, the latest used', async () => {
    for (const id of ['a', 'b', 'a', 'c']) await add(id, 1)
    evolved = 0
    await sums.load('a')
    expect(evolved).toBe(0 + 1)
    await sums.load('b')
    expect(evolved).toBe(1 + 1)
  })

  test('decides anew over what somebody else appended meanwhile', async () => {
    await add('a', 1)
    world.meanwhile = () => addElsewhere(10, 0)
    const { before, result } = await add('a', 100)
    expect({ before, result }).toEqual({ before: 11, result: 111 })
  })

  test('appends nothing where there is nothing to say', async () => {
    const { appended } = await sums.execute('a', () => ({ events: [], result: undefined }), UNKNOWN)
    expect(appended).toBeUndefined()
    expect(world.appends).toBe(0)
  })

  test('gives up, with nothing recorded, where others are always quicker; and pauses in between', async () => {
    let revision: number | 'no-stream' = 'no-stream'
    const racing = sums.execute(
      'a',
      async (sum) => {
        revision = (await addElsewhere(0, revision)).revision
        return { events: [added(1)], result: sum }
      },
      UNKNOWN,
    )
    await expect(racing).rejects.toMatchObject({ code: 'store_unavailable' })
    expect((await sums.load('a')).state).toBe(0)
    expect(world.pauses.filter((ms) => ms > 0).length).toBeGreaterThan(world.pauses.length / 2)
  })

  test('throws a contradiction that every further decision would repeat', async () => {
    const id = world.newId()
    await world.others.append('sum-b', [added(1, id)], { expected: 'no-stream' })
    const contradicting = sums.execute('a', () => ({ events: [added(2, id)], result: 0 }), UNKNOWN)
    await expect(contradicting).rejects.toMatchObject({ code: 'idempotency_conflict' })
  })

  test('once over lost answers, and in a caller’s words where nobody knows', async () => {
    world.faults.push('lost-after', 'away', 'lost-before')
    await add('a', 5)
    expect((await sums.load('a')).state).toBe(5)
    world.faults.push('lost-after', ...Array.from({ length: 500 }, () => 'away' as const))
    await expect(add('a', 5)).rejects.toMatchObject({ code: 'outcome_unknown' })
    world.faults.length = 0
    expect((await sums.load('a')).state).toBe(10)
  })

  test('passes on what the decision throws', async () => {
    const refusing = sums.execute('a', () => Promise.reject(new Error('not allowed')), UNKNOWN)
    await expect(refusing).rejects.toThrow('not allowed')
  })
})
