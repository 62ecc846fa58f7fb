import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ServiceError } from '../../../contracts/errors.ts'
import { createMemoryLog, openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { createSoleLeases } from './create-sole-leases.ts'
import { SimulatedHolders } from './testing/simulated-holders.fixture.ts'

const SHARDS = 6
const fail = (error: unknown): void => expect.fail(String(error))

/** The faults that a simulated run injects into one process at a time. */
const faults = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 100, max: 20_000 }),
    process: fc.nat(3),
    what: fc.constantFrom(
      ...(['join', 'kill', 'freeze', 'suspend', 'thaw', 'leave', 'away', 'back', 'lose', 'lose'] as const),
    ),
  }),
  { maxLength: 25 },
)

describe('leases', () => {
  test('are shared fairly by those who are there, and taken over from one that is killed', async () => {
    await using world = new SimulatedHolders({ shards: SHARDS })
    await world.join(0)
    await world.pass(1_000)
    expect(world.shardsOf(0)).toHaveLength(SHARDS)
    await world.join(1)
    await world.pass(10_000)
    expect([world.shardsOf(0).length, world.shardsOf(1).length]).toEqual([3, 3])
    await world.kill(0)
    await world.pass(16_000)
    expect(world.shardsOf(1)).toHaveLength(SHARDS)
  })

  test('are written down by those who have them: who waits for one shard writes nothing, and has it once it is free', async () => {
    await using world = new SimulatedHolders({ shards: 1 })
    for (const index of [0, 1, 2, 3]) {
      await world.join(index)
      await world.pass(500)
    }
    const before = world.written()
    await world.pass(60_000)
    // One that renews, and not four.
    expect(world.written() - before).toBeLessThanOrEqual(26)
    expect(world.shardsOf(0)).toEqual([0])
    await world.kill(0)
    await world.pass(15_000)
    expect(world.allShards()).toEqual([0])
    expect(world.errors).toEqual([])
  })

  test('of a process that dies are another one’s within nine seconds, whenever it dies', async () => {
    for (let afterMs = 0; afterMs < 6_000; afterMs += 500) {
      await using world = new SimulatedHolders({ shards: SHARDS, drifts: [0, 700] })
      await world.join(0)
      await world.pass(1_000)
      await world.join(1)
      await world.pass(12_000 + afterMs)
      await world.kill(0)
      await world.pass(9_000)
      expect(world.shardsOf(1), `killed after ${afterMs} ms`).toHaveLength(SHARDS)
    }
  })

  test('are given back at once by one that leaves', async () => {
    await using world = new SimulatedHolders({ shards: SHARDS })
    await world.join(0)
    await world.join(1)
    await world.pass(15_000)
    await world.leave(0)
    await world.pass(2_250)
    expect(world.shardsOf(1)).toHaveLength(SHARDS)
  })

  test('of a frozen process pass to another, and it finds itself fenced when it comes back', async () => {
    await using world = new SimulatedHolders({ shards: SHARDS })
    await world.join(0)
    await world.pass(1_000)
    const before = world.tokensOf(0)
    await world.join(1)
    world.freeze(0)
    await world.pass(40_000)
    expect(world.shardsOf(1)).toHaveLength(SHARDS)
    await world.thaw(0)
    expect(world.shardsOf(0)).toEqual([])
    for (const [shard, token] of world.tokensOf(1)) expect(token).toBeGreaterThan(before.get(shard) ?? 0)
    await world.pass(15_000)
    expect([world.shardsOf(0).length, world.shardsOf(1).length]).toEqual([3, 3])
  })

  test('end by themselves while the log is away, and are had again when it is back', async () => {
    await using world = new SimulatedHolders({ shards: SHARDS })
    await world.join(0)
    await world.pass(1_000)
    world.storeAway(0)
    await world.pass(11_000)
    expect(world.shardsOf(0)).toEqual([])
    expect(world.errors.length).toBeGreaterThan(0)
    world.storeBack(0)
    await world.pass(4_000)
    expect(world.shardsOf(0)).toHaveLength(SHARDS)
  })

  test('of which the work cannot begin are tried again', async () => {
    await using world = new SimulatedHolders({ shards: SHARDS })
    world.refuseNext(4)
    await world.join(0)
    await world.pass(10_000)
    expect(world.shardsOf(0)).toHaveLength(SHARDS)
    expect(world.errors.map(String)).toContain('Error: cannot begin')
  })

  test.each([1_000, 5_000, 25_000])(
    'of which a process hears nothing for %i ms are given back and had anew by the next claim',
    async (deafMs) => {
      await using world = new SimulatedHolders({ shards: SHARDS })
      await world.join(0, deafMs)
      await world.pass(deafMs + 4_000)
      expect(world.shardsOf(0)).toHaveLength(SHARDS)
      await world.join(1)
      await world.pass(10_000)
      expect([world.shardsOf(0).length, world.shardsOf(1).length]).toEqual([3, 3])
    },
  )

  test('whose answer was lost over a store that then went away are worked on when it is back', async () => {
    await using world = new SimulatedHolders({ shards: SHARDS })
    await world.join(0, 1_000)
    world.storeAway(0)
    await world.pass(20_000)
    expect(world.shardsOf(0)).toEqual([])
    world.storeBack(0)
    await world.pass(4_000)
    expect(world.shardsOf(0)).toHaveLength(SHARDS)
  })

  test('are not believed by a machine that was suspended, whose clock stood still', async () => {
    await using world = new SimulatedHolders({ shards: SHARDS })
    await world.join(0)
    await world.join(1)
    await world.pass(10_000)
    world.suspend(0)
    await world.pass(20_000)
    expect(world.shardsOf(1)).toHaveLength(SHARDS)
    expect(world.shardsOf(0)).toEqual([])
    await world.thaw(0)
    expect(world.shardsOf(0)).toEqual([])
    await world.pass(15_000)
    expect([world.shardsOf(0).length, world.shardsOf(1).length]).toEqual([3, 3])
  })

  test('on which no work begins for a while are told', async () => {
    await using world = new SimulatedHolders({ shards: SHARDS })
    world.refuseNext(Number.POSITIVE_INFINITY)
    await world.join(0)
    await world.pass(30_000)
    expect(world.idleOf(0)).toEqual([])
    await world.pass(40_000)
    expect(world.idleOf(0)).toHaveLength(SHARDS)
    world.refuseNext(0)
    await world.pass(10_000)
    expect(world.idleOf(0)).toEqual([])
  })

  test('are never held twice, whoever dies, freezes, leaves or loses its log, with clocks apart', async () => {
    await fc.assert(
      fc.asyncProperty(faults, fc.array(fc.integer({ min: -2_000, max: 2_000 })), async (steps, drifts) => {
        await using world = new SimulatedHolders({ shards: SHARDS, drifts })
        await world.join(0)
        for (const { afterMs, process, what } of steps) {
          await world.pass(afterMs)
          await world.apply(process, what)
        }
        // Whatever happened, those that are left have everything in the end.
        await world.apply(0, 'join')
        for (const process of [0, 1, 2, 3]) await world.recover(process)
        await world.pass(60_000)
        expect(world.allShards().toSorted((a, b) => a - b)).toEqual(
          Array.from({ length: SHARDS }, (_, shard) => shard),
        )
        expect([0, 1, 2, 3].flatMap((process) => world.idleOf(process))).toEqual([])
      }),
      { numRuns: 40 },
    )
  })
})

describe('sole leases', () => {
  const log = createMemoryLog()
  let ids = 0
  const newId = (): string => `019abcde-7c00-7001-8000-${String(++ids).padStart(12, '0')}`

  async function run(holder: string): Promise<{ tokens: number[]; ended: number }> {
    const store = openMemoryStore({ now: () => 0, log })
    const ending = new AbortController()
    const tokens: number[] = []
    let ended = 0
    const leases = createSoleLeases({ store, group: 'sole', shards: 3, holder, newId, report: fail })
    const all = Promise.withResolvers<void>()
    const running = leases.run(
      {
        gained: async ({ token }) => {
          if (tokens.push(token) === 3) all.resolve()
        },
        lost: async () => {
          ended += 1
        },
      },
      ending.signal,
    )
    await all.promise
    expect(leases.held().map(({ shard }) => shard)).toEqual([0, 1, 2])
    ending.abort()
    await running
    expect(leases.held()).toEqual([])
    return { tokens, ended }
  }

  test('have everything at once, and higher tokens with each start', async () => {
    expect(await run('first')).toEqual({ tokens: [0, 0, 0], ended: 3 })
    expect(await run('second')).toEqual({ tokens: [1, 1, 1], ended: 3 })
    // Also where it goes by the name of an earlier one.
    expect(await run('second')).toEqual({ tokens: [2, 2, 2], ended: 3 })
  })

  test('of which the work cannot begin are tried again under a higher token', async () => {
    const store = openMemoryStore({ now: () => 0 })
    const ending = new AbortController()
    const tokens: number[] = []
    const idle: number[] = []
    let elapsed = 0
    const both = Promise.withResolvers<void>()
    const leases = createSoleLeases({
      store,
      group: 'sole',
      shards: 1,
      holder: 'h',
      newId,
      report: () => undefined,
      elapsed: () => elapsed,
      sleep: async (ms) => {
        elapsed += ms
        await setImmediate()
      },
      idleMs: 10_000,
    })
    const running = leases.run(
      {
        gained: async ({ token }) => {
          tokens.push(token)
          idle.push(leases.idle().length)
          if (tokens.length < 6) throw new Error('cannot begin')
          both.resolve()
        },
        lost: async () => undefined,
      },
      ending.signal,
    )
    await both.promise
    expect(idle[0]).toBe(0)
    expect(idle.at(-1)).toBe(1)
    expect(tokens).toEqual([0, 1, 2, 3, 4, 5])
    await expect.poll(() => leases.idle()).toEqual([])
    ending.abort()
    await running
  })

  test('fail where the store does', async () => {
    const store = openMemoryStore({ now: () => 0 })
    const append = () => Promise.reject(new ServiceError('store_unavailable'))
    const options = { group: 'sole', shards: 3, holder: 'h', newId, report: fail }
    const leases = createSoleLeases({ ...options, store: { ...store, append } })
    const none = { gained: async () => expect.fail('gained'), lost: async () => undefined }
    await expect(leases.run(none, new AbortController().signal)).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })
})
