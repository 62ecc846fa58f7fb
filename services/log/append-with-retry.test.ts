import { beforeEach, describe, expect, test } from 'vitest'
import { isServiceError, ServiceError } from '../../contracts/errors/errors.ts'
import type { NewEvent } from '../../contracts/infra/event.ts'
import {
  type AppendFault,
  createFaultyWorld,
  type FaultyWorld,
} from '../../testing/event-store/faulty-store.fixture.ts'
import {
  type AppendPath,
  appendedOr,
  appendWithRetry,
  RETRY_FOR_CALLER,
  RETRY_IN_BACKGROUND,
} from './append-with-retry.ts'

let world: FaultyWorld
beforeEach(() => {
  world = createFaultyWorld()
})

const path = (policy = RETRY_FOR_CALLER): AppendPath => ({ ...world, policy, signal: world.ending.signal })

const anEvent = (n = 0): NewEvent => ({
  id: world.newId(),
  type: 'Happened',
  schema: 1,
  data: { n },
  meta: { correlationId: 'c', actor: 'a' },
})

const append = (
  events: readonly NewEvent[],
  policy = RETRY_FOR_CALLER,
  expected: number | 'no-stream' = 'no-stream',
) => appendWithRetry(path(policy), { stream: 's', events, expected })

async function idsInLog(): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of world.others.read('s')) ids.push(id)
  return ids
}

describe('appendWithRetry', () => {
  const SCHEDULES: readonly (readonly AppendFault[])[] = [
    [],
    ['lost-after'],
    ['lost-before'],
    ['away', 'full', 'away'],
    ['lost-before', 'away', 'lost-after', 'away', 'lost-before'],
    ['lost-after', 'away', 'away', 'full', 'away'],
  ]
  test.each(SCHEDULES.map((faults) => [faults] as const))('happens once over %j', async (faults) => {
    const events = [anEvent(), anEvent()]
    world.faults.push(...faults)
    expect(await append(events)).toMatchObject({ kind: 'appended', revision: 1, isOurs: true })
    expect(await idsInLog()).toEqual(events.map(({ id }) => id))
    expect(world.appends).toBe(faults.length + 1)
  })

  test('pauses between tries, longer and longer', async () => {
    world.faults.push('away', 'away', 'lost-before', 'away')
    await append([anEvent()])
    expect(world.pauses).toEqual(world.pauses.toSorted((a, b) => a - b))
    expect(world.pauses).toHaveLength(4)
    expect(Math.min(...world.pauses)).toBeGreaterThan(0)
  })

  test('is refused, and did not happen, where the store is away for longer than the patience', async () => {
    world.awayUntil = world.now() + RETRY_FOR_CALLER.refusedMs + 60_000
    const began = world.now()
    expect(await append([anEvent()])).toMatchObject({ kind: 'refused', error: { code: 'store_unavailable' } })
    expect(world.now() - began).toBeLessThan(RETRY_FOR_CALLER.refusedMs + 1_000)
    expect(await idsInLog()).toEqual([])
  })

  test('stays unknown where the store goes away over it, and is pursued for longer', async () => {
    const event = anEvent()
    world.faults.push('lost-after', ...Array.from({ length: 500 }, () => 'away' as const))
    const began = world.now()
    expect(await append([event])).toMatchObject({ kind: 'unknown' })
    expect(world.now() - began).toBeGreaterThanOrEqual(RETRY_FOR_CALLER.unknownMs)
    expect(await idsInLog()).toEqual([event.id])
  })

  test('counts the patience from when the caller began to wait', async () => {
    world.awayUntil = world.now() + 3_600_000
    const since = world.now() - RETRY_FOR_CALLER.refusedMs
    const outcome = await appendWithRetry(path(), {
      stream: 's',
      events: [anEvent()],
      expected: 'no-stream',
      since,
    })
    expect(outcome.kind).toBe('refused')
    expect(world.pauses).toEqual([])
  })

  test('ends also where the clock stands still', async () => {
    world.awayUntil = Number.POSITIVE_INFINITY
    const still = { ...path(RETRY_FOR_CALLER), now: () => 0, sleep: async () => undefined }
    expect(
      await appendWithRetry(still, { stream: 's', events: [anEvent()], expected: 'no-stream' }),
    ).toMatchObject({
      kind: 'refused',
    })
  })

  test('waits for as long as it runs where its policy says so, and ends with the signal', async () => {
    world.awayUntil = world.now() + 86_400_000
    expect(await append([anEvent()], RETRY_IN_BACKGROUND)).toMatchObject({ kind: 'appended' })
    world.awayUntil = Number.POSITIVE_INFINITY
    const sleep = async () => world.ending.abort()
    const ended = { ...path(RETRY_IN_BACKGROUND), sleep }
    expect(await appendWithRetry(ended, { stream: 's', events: [anEvent()], expected: 0 })).toMatchObject({
      kind: 'refused',
    })
  })

  test('is a conflict where another event has the place, also behind a try that nobody answered', async () => {
    await world.others.append('s', [anEvent()], { expected: 'no-stream' })
    expect(await append([anEvent()])).toMatchObject({
      kind: 'conflict',
      error: { code: 'revision_conflict' },
    })
    world.faults.push('lost-before')
    expect(await append([anEvent()])).toMatchObject({ kind: 'conflict' })
    // A stream that is shorter than expected cannot have it either.
    world.faults.push('lost-before')
    expect(await append([anEvent()], RETRY_FOR_CALLER, 7)).toMatchObject({ kind: 'conflict' })
  })

  test('is a conflict where the id stands for something else', async () => {
    const event = anEvent()
    await world.others.append('other', [event], { expected: 'no-stream' })
    expect(await append([{ ...event, data: { n: 9 } }])).toMatchObject({
      kind: 'conflict',
      error: { code: 'idempotency_conflict' },
    })
  })

  test('knows its own events again where the log tells them as a conflict', async () => {
    const event = anEvent()
    world.faults.push('lost-after', 'false-conflict')
    expect(await append([event])).toMatchObject({ kind: 'appended', revision: 0, isOurs: true })
    expect(await idsInLog()).toEqual([event.id])
  })

  test('takes an event of the same id and other content for somebody else’s', async () => {
    const event = anEvent()
    world.faults.push('lost-before')
    world.meanwhile = async () => {
      await world.others.append('s', [{ ...event, data: { n: 7 } }], { expected: 'no-stream' })
    }
    const conflicting = { ...path(), store: { ...world.store, append: asRevisionConflict } }
    const outcome = await appendWithRetry(conflicting, {
      stream: 's',
      events: [event],
      expected: 'no-stream',
    })
    expect(outcome.kind).toBe('conflict')
  })

  /** A log that looks at places and not at ids. */
  const asRevisionConflict: FaultyWorld['store']['append'] = (...args) =>
    world.store.append(...args).catch((error: unknown) => {
      const isOther = isServiceError(error, 'idempotency_conflict')
      throw isOther ? new ServiceError('revision_conflict', { details: { actual: 0 } }) : error
    })

  test('is unknown while its place is taken and cannot be read', async () => {
    const event = anEvent()
    world.faults.push('unreadable')
    expect(await append([event])).toMatchObject({ kind: 'unknown' })
    world.show()
    expect(await append([event])).toMatchObject({ kind: 'appended', isOurs: false })
    expect(await idsInLog()).toEqual([event.id])
  })

  test('a conflict whose place nobody can read is not taken for somebody else', async () => {
    let tries = 0
    const store = {
      ...world.store,
      append: async () => {
        if (tries++ === 0) throw new ServiceError('append_unknown')
        throw new ServiceError('revision_conflict', { details: { expected: 'no-stream', actual: 0 } })
      },
    }
    const outcome = appendWithRetry(
      { ...path(), store },
      { stream: 's', events: [anEvent()], expected: 'no-stream' },
    )
    expect(await outcome).toMatchObject({ kind: 'unknown' })
  })

  test('a fault of the program in that look is passed on, and taken for no answer of the log', async () => {
    world.faults.push('lost-before')
    const store = {
      ...world.store,
      append: async () => {
        throw new ServiceError(world.faults.pop() === undefined ? 'revision_conflict' : 'append_unknown')
      },
      read: () => {
        throw new TypeError('not a function')
      },
    }
    const outcome = appendWithRetry(
      { ...path(), store },
      { stream: 's', events: [anEvent()], expected: 'no-stream' },
    )
    await expect(outcome).rejects.toThrow(TypeError)
  })

  test('says whose append it was that the log had', async () => {
    const event = anEvent()
    await world.others.append('s', [event], { expected: 'no-stream' })
    expect(await append([event])).toMatchObject({ kind: 'appended', isOurs: false })
  })

  test('is not repeated where it never can be, and passes faults of the program on', async () => {
    expect(await append([{ ...anEvent(), id: 'no id' }])).toMatchObject({
      kind: 'refused',
      error: { code: 'event_invalid' },
    })
    expect(world.pauses).toEqual([])
    const store = { ...world.store, append: () => Promise.reject(new TypeError('a fault')) }
    const failing = appendWithRetry({ ...path(), store }, { stream: 's', events: [anEvent()], expected: 0 })
    await expect(failing).rejects.toThrow(TypeError)
  })

  test('tells whoever listens of each failure that it waits out', async () => {
    const told: string[] = []
    world.faults.push('away', 'lost-after')
    const telling = { ...path(), onFailure: ({ code }: ServiceError) => told.push(code) }
    await appendWithRetry(telling, { stream: 's', events: [anEvent()], expected: 'no-stream' })
    expect(told).toEqual(['store_unavailable', 'append_unknown'])
  })
})

test('what callers are told of an unknown outcome is in their words', async () => {
  world.faults.push('lost-before', ...Array.from({ length: 500 }, () => 'away' as const))
  const outcome = await append([anEvent()])
  const unknown = { what: 'this call was counted', again: 'Repeat it with the same Idempotency-Key.' }
  expect(() => appendedOr(outcome, unknown)).toThrow(
    expect.objectContaining({
      code: 'outcome_unknown',
      message: expect.stringMatching(/this call was counted.*same Idempotency-Key/),
    }),
  )
  const conflict = { kind: 'conflict', error: new ServiceError('revision_conflict') } as const
  expect(appendedOr(conflict, unknown)).toBeUndefined()
})
