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
  expect([...map.set('d', 5).keys()]).toEqual(['c', 'd'])
})

test('of none keeps none', () => {
  expect(new RecentMap<string, number>(0).set('a', 1).size).toBe(0)
})
