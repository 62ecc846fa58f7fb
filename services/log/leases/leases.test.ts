import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { openMemoryStore } from '../../../testing/memory-store/memory-store.ts'
import { anEvent } from '../event-store.contract.ts'
import type { EventStore } from '../event-store.ts'
import { createSoleLeases } from './leases.ts'
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

  test('of a process that dies are another one’s within ten seconds, whenever it dies', async () => {
    for (let afterMs = 0; afterMs < 6_000; afterMs += 500) {
      await using world = new SimulatedHolders({ shards: SHARDS, drifts: [0, 700] })
      await world.join(0)
      await world.pass(1_000)
      await world.join(1)
      await world.pass(12_000 + afterMs)
      await world.kill(0)
      await world.pass(10_000)
      expect(world.shardsOf(1), `killed after ${afterMs} ms`).toHaveLength(SHARDS)
    }
  })

  test('of a process that dies are not taken before its time and the grace are over', async () => {
    for (let apartMs = 0; apartMs < LIMITS.leaseRenewMs; apartMs += 250) {
      await using world = new SimulatedHolders({ shards: 1 })
      await world.join(0)
      await world.pass(apartMs)
      await world.join(1)
      const before = world.written()
      while (world.written() === before) await world.pass(250)
      await world.kill(0)
      await world.pass(LIMITS.leaseTtlMs + LIMITS.leaseGraceMs - 500)
      expect(world.shardsOf(1), `${apartMs} ms apart`).toEqual([])
    }
  })

  test('of one that leaves are taken by the next renewal', async () => {
    await using world = new SimulatedHolders({ shards: SHARDS })
    await world.join(0)
    await world.join(1)
    await world.pass(15_000)
    await world.leave(0)
    await world.pass(2_750)
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
      }),
      { numRuns: 40 },
    )
  })
})

describe('sole leases', () => {
  async function run(store: EventStore): Promise<{ tokens: number[]; ended: number }> {
    const ending = new AbortController()
    const tokens: number[] = []
    let ended = 0
    const leases = createSoleLeases({ store, shards: 3, report: fail })
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

  test('have everything at once, write nothing, and have higher tokens once something was written', async () => {
    const store = openMemoryStore({ now: () => 0 })
    expect(await run(store)).toEqual({ tokens: [0, 0, 0], ended: 3 })
    await store.append('s', [anEvent()], { expected: 'no-stream' })
    expect(await run(store)).toEqual({ tokens: [1, 1, 1], ended: 3 })
    expect(await store.head()).toBe('1')
  })

  test('of a log that cannot be read for a moment are had once it can', async () => {
    const ending = new AbortController()
    const store = openMemoryStore({ now: () => 0 })
    let failures = 2
    const head = async (): Promise<string> => {
      if (failures-- > 0) throw new Error('cannot read')
      return store.head()
    }
    const reports: unknown[] = []
    const report = (error: unknown): void => void reports.push(error)
    const rest = async (): Promise<void> => {
      await setImmediate()
    }
    const begun = Promise.withResolvers<void>()
    const leases = createSoleLeases({ store: { head }, shards: 1, report, sleep: rest })
    const running = leases.run(
      { gained: async () => begun.resolve(), lost: async () => undefined },
      ending.signal,
    )
    await begun.promise
    expect(reports.map(String)).toEqual(['Error: cannot read', 'Error: cannot read'])
    ending.abort()
    await running
  })

  test('of which the work cannot begin are tried again', async () => {
    const ending = new AbortController()
    const begun = Promise.withResolvers<void>()
    const reports: unknown[] = []
    let tries = 0
    const leases = createSoleLeases({
      store: openMemoryStore({ now: () => 0 }),
      shards: 1,
      report: (error) => reports.push(error),
      sleep: async () => {
        await setImmediate()
      },
    })
    const gained = async (): Promise<void> => {
      if (++tries < 6) throw new Error('cannot begin')
      begun.resolve()
    }
    const running = leases.run({ gained, lost: async () => undefined }, ending.signal)
    await begun.promise
    expect([tries, reports.length]).toEqual([6, 5])
    ending.abort()
    await running
  })
})
