import { expect, test } from 'vitest'
import { START } from '../../../contracts/position.ts'
import { openRowTables } from './row-tables.ts'

test('the newest event that rows follow from stays the newest, whichever read model commits last', () => {
  const tables = openRowTables(':memory:', 'log-1')
  for (const name of ['quick', 'slow']) tables.create(name, 1, 'active')
  const commit = (name: string, position: string): void =>
    tables
      .table(name, 1)
      .commit(new Map([['a', { n: 1 }]]), START, position, { id: `id ${position}`, position })
  commit('quick', '9')
  commit('slow', '3')
  expect(tables.newest()).toEqual({ id: 'id 9', position: '9' })
  // A start folds nothing twice that the quick one had.
  tables.standOnNewest()
  expect(tables.states('quick')[0]?.position).toBe('9')
  tables.close()
})
