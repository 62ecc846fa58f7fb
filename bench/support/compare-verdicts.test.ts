import { expect, test } from 'vitest'
import { compareVerdicts } from './compare-verdicts.ts'

const row = (name: string, ratio: number, floor: number | null) => ({
  bench: 'calls',
  title: 'one key',
  name,
  ratio,
  floor,
})

test('a run alone says how many rows meet their floor', () => {
  const rows = [row('a', 0.5, 0.5), row('b', 0.4, 0.5), row('c', 0.1, null)]
  expect(compareVerdicts(rows, [])).toEqual(['1 of 2 rows with a floor meet it'])
})

test('a second run names every verdict that is another one, and leaves out rows whose floor has changed', () => {
  const rows = [row('a', 0.5, 0.5), row('b', 0.6, 0.5), row('c', 0.3, 0.4)]
  const former = [row('a', 0.7, 0.5), row('b', 0.4, 0.5), row('c', 0.3, 0.2), row('d', 1, 1)]
  expect(compareVerdicts(rows, former)).toEqual([
    '2 of 3 rows with a floor meet it',
    '1 of 2 have the verdict of the run before',
    '  calls, one key: b meets 0.5 now: × 0.400 then, × 0.600 now',
  ])
})
