import { expect, test } from 'vitest'
import { pageWithRows } from './write-page.ts'

const row = {
  bench: 'append',
  title: '64 callers',
  unit: 'events/s',
  low: 90,
  high: 110,
  base: 'a file',
  ratio_low: 0.3,
  ratio_high: 0.5,
  floor: null,
}
const results = {
  date: '2026-11-24T10:00:00.000Z',
  node: '24.21.0',
  machine: '2 × CPU',
  is_quiet: false,
  rows: [
    { ...row, name: 'a file', median: 250, ratio: 1 },
    { ...row, name: 'the log | embedded', median: 100, ratio: 0.4 },
  ],
}

test('the rows of a run replace those of the run before, and nothing else of the page', () => {
  const page = 'Head.\n\n<!-- rows -->\nold\n<!-- end of rows -->\n\nFoot.\n'
  const written = pageWithRows(page, results)
  expect(written).toContain(
    'Measured on 2026-11-24 with Node.js 24.21.0 on 2 × CPU; the machine was not quiet.',
  )
  expect(written).toContain('| append | 64 callers: the log / embedded | 100 | 0.400 | 0.30–0.50 | a file |')
  expect(written).not.toContain('old')
  expect([written.startsWith('Head.\n\n'), written.endsWith('\n\nFoot.\n')]).toEqual([true, true])
  expect(pageWithRows(written, results)).toBe(written)
})

test('a page without a place for them is refused', () => {
  expect(() => pageWithRows('Head.', results)).toThrow('has no <!-- rows -->')
})
