import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSlots, type Slot, type SlotUser } from './slots.ts'

const MOST = 16

/** Endpoints that want slots without end, and hold what they have. */
function users(slots: ReturnType<typeof createSlots>, all: readonly Omit<SlotUser, 'pump'>[]) {
  return all.map((about) => {
    const held: Slot[] = []
    let wanted = 0
    const user = {
      ...about,
      held,
      pump(): void {
        for (; wanted > 0; wanted--) {
          const slot = slots.take(user)
          if (slot === undefined) return
          held.push(slot)
        }
      },
      want(count: number): void {
        wanted += count
        user.pump()
      },
    }
    return user
  })
}

const kinds = fc.array(
  fc.record({
    owner: fc.constantFrom('a', 'b', 'c'),
    host: fc.constantFrom('x', 'y', undefined),
    isSlow: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
)

test('no group has more than its share, and nobody waits for ever', () => {
  const steps = fc.array(fc.tuple(fc.nat(11), fc.nat(6), fc.boolean()), { maxLength: 60 })
  fc.assert(
    fc.property(kinds, steps, (all, happened) => {
      const slots = createSlots(MOST)
      const here = users(slots, all)
      const used = (which: (user: (typeof here)[number]) => boolean): number =>
        here.filter(which).reduce((sum, { held }) => sum + held.length, 0)
      for (const [at, count, takes] of happened) {
        const user = here[at % here.length]
        if (takes) user?.want(count)
        else user?.held.shift()?.ended()
        expect(used(() => true)).toBeLessThanOrEqual(MOST)
        expect(used(({ isSlow }) => isSlow)).toBeLessThanOrEqual(MOST / 2)
        for (const name of ['a', 'b', 'c'])
          expect(used(({ owner }) => owner === name)).toBeLessThanOrEqual(MOST / 4)
        for (const name of ['x', 'y']) expect(used(({ host }) => host === name)).toBeLessThanOrEqual(MOST / 4)
      }
      const wanted = happened.reduce((sum, [, count, takes]) => sum + (takes ? count : 0), 0)
      let given = 0
      for (let left = here; left.length > 0; left = here.filter(({ held }) => held.length > 0)) {
        for (const { held } of left) {
          if (held.length > 0) given += 1
          held.shift()?.ended()
        }
      }
      const before = happened.filter(([, , takes]) => !takes).length
      expect(given + before).toBeGreaterThanOrEqual(wanted)
      expect(slots.underWay).toBe(0)
    }),
  )
})

test('a slot whose POST is over serves the next, and counts as under way until it is recorded', () => {
  const slots = createSlots(4)
  const same = { owner: 'a', host: undefined, isSlow: false }
  const [one, other] = users(slots, [same, same])
  one?.want(1)
  other?.want(1)
  expect([one?.held.length, other?.held.length]).toEqual([1, 0])
  one?.held[0]?.sent()
  expect([other?.held.length, slots.underWay]).toEqual([1, 2])
  one?.held[0]?.ended()
  expect(slots.underWay).toBe(1)
})
