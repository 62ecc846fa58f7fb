import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PATHS, pathLimits } from './path-limits.ts'
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

test('the limit of a path is the sum of its parts, and one that was not measured is left out', () => {
  const rows = [
    { bench: 'append', title: '64 callers', name: 'write + fdatasync, 64 per sync', median: 100_000 },
    { bench: 'append', title: '64 callers', name: 'embedded store, 64 callers', median: 40_000 },
    {
      bench: 'calls',
      title: 'tools/call, one key, 64 connections',
      name: 'bare Fastify POST of the same answer',
      median: 40_000,
    },
    {
      bench: 'calls',
      title: 'tools/call, one key, 64 connections',
      name: 'this edge, handshake era',
      median: 10_000,
    },
  ]
  expect(pathLimits(rows)).toEqual([
    '| durable append, 64 callers | write + fdatasync 10.0 | 10.0 µs | 25.0 µs | 0.40 |',
    '| keyed call, one key | bare POST 25.0 + append 25.0 | 50.0 µs | 100.0 µs | 0.50 |',
  ])
})

test('the page says the limit of every path', () => {
  const page = readFileSync(new URL('../../docs/benchmarks.md', import.meta.url), 'utf8')
  const missing = PATHS.filter(({ path }) => !page.includes(`\n| ${path} | `))
  expect(missing.map(({ path }) => path)).toEqual([])
})
