import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PLAN_LIMITS, TIERS, type Tier } from '../../../contracts/domain/plans.ts'
import { type Balance, decideDebit, UNUSED } from './balance.ts'

const day = (number: number): string => new Date(Date.UTC(2026, 10, 1 + number)).toISOString().slice(0, 10)
const used = (change: Partial<Balance>): Balance => ({ ...UNUSED, revision: 7, day: day(3), ...change })

describe('a debit', () => {
  test('is the first of its stream, its window and its day', () => {
    const after = { revision: 0, used: 1, day: day(3), usedToday: 1 }
    expect(decideDebit(UNUSED, 'free', day(3))).toEqual({ kind: 'debit', after })
  })

  test.each([
    ['one before the end of the day', 'free', { used: 150, usedToday: 99 }, 'debit'],
    ['at the end of the day', 'free', { used: 150, usedToday: 100 }, 'day'],
    ['one before the end of the window', 'free', { used: 199, usedToday: 3 }, 'debit'],
    ['at the end of the window', 'free', { used: 200, usedToday: 3 }, 'window'],
    ['at the end of both', 'free', { used: 200, usedToday: 100 }, 'window'],
    ['of a plan, however many in a day', 'starter', { used: 9_999, usedToday: 9_999 }, 'debit'],
    ['at the end of a plan', 'starter', { used: 10_000, usedToday: 1 }, 'window'],
    ['at the end of the largest plan', 'pro', { used: 100_000, usedToday: 1 }, 'window'],
  ] as const)('%s', (_, tier, change, expected) => {
    const decision = decideDebit(used(change), tier, day(3))
    expect(decision.kind === 'refuse' ? decision.exhausted : decision.kind).toBe(expected)
  })

  test('on a new day begins a new count of the day, and goes on with that of the window', () => {
    const after = { revision: 8, used: 101, day: day(4), usedToday: 1 }
    expect(decideDebit(used({ used: 100, usedToday: 100 }), 'free', day(4))).toEqual({ kind: 'debit', after })
  })

  test('by a clock that is behind counts in the day that has begun', () => {
    expect(decideDebit(used({ used: 100, usedToday: 100 }), 'free', day(2)).kind).toBe('refuse')
    expect(decideDebit(used({ used: 10, usedToday: 10 }), 'free', day(2))).toMatchObject({
      after: { day: day(3), usedToday: 11 },
    })
  })
})

test('whatever is asked in whatever order, no limit is passed, and nothing is refused that is left', () => {
  const asked = fc.record({ day: fc.nat(5), times: fc.integer({ min: 1, max: 60 }) })
  fc.assert(
    fc.property(fc.constantFrom<Tier>(...TIERS), fc.array(asked, { maxLength: 60 }), (tier, commands) => {
      const { callsPerWindow, callsPerDay } = PLAN_LIMITS[tier]
      /** Counted apart from the decider: allowed calls by the day that each was counted in. */
      const days = new Map<string, number>()
      let all = 0
      let balance = UNUSED
      for (const command of commands) {
        for (let n = 0; n < command.times; n++) {
          const decision = decideDebit(balance, tier, day(command.day))
          const today = [day(command.day), balance.day].toSorted().at(-1) ?? ''
          const isLeft =
            all < callsPerWindow && (callsPerDay === null || (days.get(today) ?? 0) < callsPerDay)
          expect(decision.kind).toBe(isLeft ? 'debit' : 'refuse')
          if (decision.kind === 'refuse') break
          balance = decision.after
          days.set(balance.day, (days.get(balance.day) ?? 0) + 1)
          all += 1
        }
        expect(balance).toMatchObject({ used: all })
        expect(all).toBeLessThanOrEqual(callsPerWindow)
        for (const count of days.values()) expect(count).toBeLessThanOrEqual(callsPerDay ?? Infinity)
      }
    }),
  )
})
