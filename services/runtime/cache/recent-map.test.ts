import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { exposedGc } from '../../../testing/exposed-gc.ts'
import { RecentMap } from './recent-map.ts'

test('keeps as many as it may, those that were used last', () => {
  const map = new RecentMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
  expect([...map]).toEqual([
    ['c', 4],
    ['a', 3],
  ])
  map.get('a')
  expect([...map.set('d', 5)].map(([key]) => key)).toEqual(['d', 'a'])
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
  expect([map.set('huge', 'x'.repeat(5_000)).has('huge'), map.size]).toEqual([false, 20])
  const few = new RecentMap<string, string>(4, { bytes: { most: 2_000, of: () => 1 } })
  for (let index = 0; index < 10; index++) few.set(`k${index}`, '')
  expect(few.size).toBe(4)
})

test.each([
  ['entries that are set again', 2_000, 1_000, {}],
  ['entries that are evicted', 1_000, 5_000, {}],
  ['entries that are evicted now and then', 1_000, 1_010, {}],
  ['entries with a time to live', 2_000, 1_000, { now: () => 0, ttlMs: 1_000 }],
] as const)('%s leave nothing behind', (_name, most, keys, options) => {
  const collect = exposedGc()
  const map = new RecentMap<string, number>(most, options)
  const used = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = used()
  for (let index = 0; index < 200_000; index++) map.set(`key ${index % keys}`, index)
  expect(map.size).toBe(Math.min(most, keys))
  // As many bytes as would hold a twentieth of what was set.
  expect(used() - before).toBeLessThan(1_500_000)
})

test('answers nothing that has expired', () => {
  let now = 0
  const map = new RecentMap<string, string>(1_000, { now: () => now, ttlMs: 1_000 })
  map.set('old', '', 10).set('new', '')
  now = 10
  expect([map.get('old'), map.has('old'), [...map].length]).toEqual([undefined, false, 1])
  now = 1_000
  expect([map.has('new'), [...map]]).toEqual([false, []])
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
      interface Item {
        readonly key: string
        readonly value: number
        readonly until: number
      }
      // An expired entry may make room for an older one, so an entry that was pushed out may still be held.
      let [possible, certain]: [Item[], Item[]] = [[], []]
      const without = (items: readonly Item[], gone: string): Item[] =>
        items.filter((item) => item.key !== gone)
      for (const [index, action] of steps.entries()) {
        if (action.do === 'pass') now += action.ms
        else if (action.do === 'clear') {
          map.clear()
          ;[possible, certain] = [[], []]
        } else if (action.do === 'get') map.get(action.key)
        else {
          ;[possible, certain] = [without(possible, action.key), without(certain, action.key)]
          if (action.do === 'delete') map.delete(action.key)
          else {
            map.set(action.key, index, action.ttl)
            const item = { key: action.key, value: index, until: now + action.ttl }
            possible.push(item)
            certain = [...certain, item].slice(-most)
          }
        }
        const isLive = ({ until }: Item): boolean => until > now
        for (const [name, value] of map)
          expect(possible.filter(isLive).find((item) => item.key === name)?.value).toBe(value)
        for (const item of certain.filter(isLive)) expect(map.get(item.key)).toBe(item.value)
        expect(map.size).toBeLessThanOrEqual(most)
      }
    }),
    { numRuns: 300 },
  )
})
