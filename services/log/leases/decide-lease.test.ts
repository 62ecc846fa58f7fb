import { describe, expect, test } from 'vitest'
import type { LeaseHolder } from '../../../contracts/events/lease-events.ts'
import { decideLease, type LeaseClaim, needsRenewal } from './decide-lease.ts'

const part = (holder: string, renewedBy: number, shards: Readonly<Record<number, number>>): LeaseHolder => ({
  holder,
  renewedBy,
  ttlMs: 10_000,
  shards: Object.entries(shards).map(([shard, token]) => ({ shard: Number(shard), token })),
})

const claim = (change: Partial<LeaseClaim> = {}): LeaseClaim => ({
  holder: 'me',
  shards: 4,
  ttlMs: 10_000,
  revision: 9,
  silent: new Set(),
  stopped: new Set(),
  ...change,
})

describe('a claim', () => {
  test('of the first takes everything', () => {
    const { table, gained, surplus } = decideLease([], claim())
    expect(table).toEqual([part('me', 9, { 0: 9, 1: 9, 2: 9, 3: 9 })])
    expect(gained.map(({ shard, token }) => [shard, token])).toEqual([0, 1, 2, 3].map((shard) => [shard, 9]))
    expect(surplus).toEqual([])
  })

  test('of one that joins says that it is there, and takes nothing that somebody has', () => {
    const other = part('other', 8, { 0: 1, 1: 1, 2: 1, 3: 1 })
    expect(decideLease([other], claim())).toEqual({
      table: [other, part('me', 9, {})],
      gained: [],
      surplus: [],
    })
  })

  test('of one with more than its share keeps it, and names what is to be given back', () => {
    const [mine, other] = [part('me', 7, { 0: 1, 1: 1, 2: 1, 3: 1 }), part('other', 8, {})]
    const { table, surplus } = decideLease([mine, other], claim())
    expect(table).toEqual([other, { ...mine, renewedBy: 9 }])
    expect(surplus).toEqual([2, 3])
  })

  test('gives back what was stopped, and keeps the tokens of the rest', () => {
    const [mine, other] = [part('me', 7, { 0: 1, 1: 1, 2: 1, 3: 1 }), part('other', 8, {})]
    const { table, gained, surplus } = decideLease([mine, other], claim({ stopped: new Set([2, 3]) }))
    expect(table).toEqual([other, part('me', 9, { 0: 1, 1: 1 })])
    expect([gained, surplus]).toEqual([[], []])
  })

  test('takes what the silent had, up to its share, and drops them', () => {
    const table = [part('dead', 1, { 0: 1, 1: 1 }), part('other', 8, { 2: 3 }), part('me', 7, { 3: 4 })]
    const decision = decideLease(table, claim({ silent: new Set(['dead']) }))
    expect(decision.table).toEqual([part('other', 8, { 2: 3 }), part('me', 9, { 0: 9, 3: 4 })])
    expect(decision.gained).toEqual([{ shard: 0, token: 9 }])
  })

  test('of one that was taken for dead starts with nothing of what it had', () => {
    const other = part('other', 8, { 0: 5, 1: 5, 2: 5, 3: 5 })
    expect(decideLease([other], claim()).gained).toEqual([])
  })

  test('leaves out shards that the work does not have any more', () => {
    const { table } = decideLease([part('me', 7, { 0: 1, 5: 1 })], claim({ shards: 2 }))
    expect(table).toEqual([part('me', 9, { 0: 1, 1: 9 })])
  })
})

describe('what it is worth to say that one is there', () => {
  const all = { 0: 1, 1: 1, 2: 1, 3: 1 }
  test.each<[string, readonly LeaseHolder[], boolean]>([
    ['nobody has anything', [], true],
    ['something is free', [part('other', 8, { 0: 1, 1: 1, 2: 1 })], true],
    ['somebody silent has it', [part('dead', 8, all)], true],
    ['somebody has more than a fair share', [part('other', 8, all)], true],
    ['it has some itself', [part('me', 7, { 0: 1 }), part('other', 8, { 1: 1, 2: 1, 3: 1 })], true],
    ['others share all of it', ['a', 'b', 'c', 'd'].map((name, n) => part(name, n, { [n]: n })), false],
    [
      'it was named with nothing',
      [part('me', 7, {}), part('a', 8, { 0: 1, 1: 1 }), part('b', 8, { 2: 1, 3: 1 })],
      false,
    ],
  ])('where %s', (_, before, isWorth) => {
    expect(needsRenewal(before, { holder: 'me', shards: 4, silent: new Set(['dead']) })).toBe(isWorth)
  })
})
