import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { RecentMap } from './recent-map.ts'

test('keeps as many as it may, those that were set last', () => {
  const map = new RecentMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ])
  map.get('a')
  expect([...map.set('d', 5)].map(([key]) => key)).toEqual(['c', 'd'])
})

test('of none keeps none', () => {
  expect(new RecentMap<string, number>(0).set('a', 1).size).toBe(0)
})

test('stays within its bytes', () => {
  const map = new RecentMap<string, string>(1_000, {
    bytes: { most: 2_000, of: (_key, value) => value.length },
  })
  for (let index = 0; index < 100; index++) map.set(`k${index % 40}`, 'x'.repeat(100))
  expect(map.size).toBe(20)
  expect(map.get('k19')).toHaveLength(100)
  map.delete('k19')
  expect(map.set('k20', 'x'.repeat(100)).size).toBe(20)
  expect(map.set('huge', 'x'.repeat(5_000)).size).toBe(0)
})

test('sweeps what expired, though nobody asks for it', () => {
  let now = 0
  const map = new RecentMap<string, string>(1_000, { now: () => now, ttlMs: 1_000 })
  for (let index = 0; index < 100; index++) map.set(`old${index}`, '', 10)
  now = 10
  for (let index = 0; index < 60; index++) map.set('new', '')
  expect(map.size).toBe(1)
  now = 1_010
  expect(map.has('new')).toBe(false)
})

const KEYS = ['a', 'b', 'c', 'd', 'e'] as const
const key = fc.constantFrom(...KEYS)
const step = fc.oneof(
  fc.record({ do: fc.constant('set' as const), key, ttl: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ do: fc.constant('get' as const), key }),
  fc.record({ do: fc.constant('delete' as const), key }),
  fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 15 }) }),
  fc.record({ do: fc.constant('clear' as const) }),
)

test.each([2, 1_000])('of %i behaves like a list of entries with times', (most) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      let now = 0
      const map = new RecentMap<string, number>(most, { now: () => now })
      let model: { readonly key: string; readonly value: number; readonly until: number }[] = []
      for (const [index, action] of steps.entries()) {
        if (action.do === 'pass') now += action.ms
        else if (action.do === 'clear') {
          map.clear()
          model = []
        } else if (action.do === 'get') map.get(action.key)
        else if (action.do === 'delete') {
          map.delete(action.key)
          model = model.filter((entry) => entry.key !== action.key)
        } else {
          map.set(action.key, index, action.ttl)
          model = model.filter((entry) => entry.key !== action.key)
          model.push({ key: action.key, value: index, until: now + action.ttl })
        }
        // An expired entry may make room for an older live one, so only the newest are certain to be held.
        const isLive = ({ until }: { readonly until: number }): boolean => until > now
        const held = new Map(map)
        for (const [name, value] of held)
          expect(model.filter(isLive).find((entry) => entry.key === name)?.value).toBe(value)
        for (const { key: name, value } of model.slice(-most).filter(isLive))
          expect(held.get(name)).toBe(value)
        expect(map.size).toBeLessThanOrEqual(most)
      }
    }),
    { numRuns: 300 },
  )
})
