import { beforeEach, describe, expect, test } from 'vitest'
import { codeOf } from '../../contracts/errors/code-of.fixture.ts'
import { createFaultyWorld, type FaultyWorld } from '../../testing/event-store/faulty-store.fixture.ts'

/** Somebody who writes to the log, as one who asks for a thing sees it. */
export interface WritePathUser {
  /** Asks for the same thing, as whoever was told to ask again does. */
  readonly write: () => Promise<unknown>
  /** How often the thing is in the log. */
  readonly recorded: () => Promise<number>
  /** Another process records something else in the same stream. */
  readonly interfere: () => Promise<unknown>
}

export interface WritePathTraits {
  /** Whether somebody waits who is told in time; work in the background waits for as long as it runs. */
  readonly isBounded: boolean
  /** The result of a write after another process wrote first. */
  readonly onConflict: 'decides anew' | 'yields'
}

/** Longer than anybody waits for. */
const MANY = Array.from({ length: 60 }, () => 'away' as const)

/**
 * The promises to everybody who writes to the log.
 *
 * @param open a user over `world.store`, in a log in which it may write
 */
export function describeWritePath(
  name: string,
  traits: WritePathTraits,
  open: (world: FaultyWorld) => Promise<WritePathUser>,
): void {
  describe(`${name}, as a user of the write path`, () => {
    let world: FaultyWorld
    let user: WritePathUser
    beforeEach(async () => {
      world = createFaultyWorld()
      user = await open(world)
    })

    test.each([
      ['after it happened', 'lost-after'],
      ['before it happened', 'lost-before'],
    ] as const)('records once where the answer is lost %s', async (_, fault) => {
      world.faults.push(fault, 'away', fault)
      await user.write()
      expect(await user.recorded()).toBe(1)
    })

    test.each([
      ['after it happened', 'lost-after'],
      ['before it happened', 'lost-before'],
    ] as const)(
      'never says more than it knows where the answer is lost %s, and the store then goes away',
      async (_, fault) => {
        world.faults.push(fault, ...MANY)
        const code = await codeOf(user.write())
        expect(code).toBe(traits.isBounded ? 'outcome_unknown' : 'none')
        world.faults.length = 0
        expect(['none', 'idempotency_conflict']).toContain(await codeOf(user.write()))
        expect(await user.recorded()).toBe(1)
      },
    )

    test('records nothing where the store is away for longer than anybody waits, and does when it is back', async () => {
      world.faults.push(...MANY)
      const code = await codeOf(user.write())
      expect(code).toBe(traits.isBounded ? 'store_unavailable' : 'none')
      expect(await user.recorded()).toBe(traits.isBounded ? 0 : 1)
      world.faults.length = 0
      await user.write()
      expect(await user.recorded()).toBe(1)
    })

    test('lets another process that was quicker go first', async () => {
      world.meanwhile = user.interfere
      await user.write()
      expect(await user.recorded()).toBe(traits.onConflict === 'yields' ? 0 : 1)
    })

    test('lets it go first also where it had to ask again', async () => {
      world.faults.push('lost-before')
      world.meanwhile = user.interfere
      await user.write()
      expect(await user.recorded()).toBe(traits.onConflict === 'yields' ? 0 : 1)
    })
  })
}
