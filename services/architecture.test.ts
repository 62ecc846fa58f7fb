import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf } from './imports-of.fixture.ts'

const ROOT = resolve(import.meta.dirname, '..')
const THIS_FILE = 'services/architecture.test.ts'

/** The floors of the house, lowest first. A file imports from its own room and from floors below. */
const FLOORS: readonly (readonly string[])[] = [
  ['contracts'],
  ['projections'],
  ['services/platform'],
  [
    'services/market',
    'services/engine',
    'services/accounts',
    'services/payments',
    'services/webhooks',
    'services/knowledge',
    'services/analyst',
  ],
  ['services/calls'],
  ['services/api'],
  ['services/composition'],
  ['services/cli'],
  ['services/main.ts', 'services/own-node.js', 'services/imports-of.fixture.ts'],
  [
    'services/start.js',
    'services/signal.js',
    'services/with-own-node.js',
    'services/own-node.e2e.test.ts',
    'services/silent-nats.e2e.test.ts',
    'services/deployment.test.ts',
    'services/main.e2e.test.ts',
    'services/write-docs.ts',
    'services/docs.test.ts',
    'services/docs-facts.test.ts',
  ],
  ['bench', 'tools'],
]

/** Measure and fit what is inside, and are no part of what ships. */
const WORKSHOPS: ReadonlySet<string> = new Set(['bench', 'tools'])

/** Its rooms do not import one another, and others enter them through their index. */
const DOMAIN_FLOOR = 3

const roomOf = (file: string): { room: string; floor: number } | undefined => {
  for (const [floor, rooms] of FLOORS.entries()) {
    const room = rooms.find((candidate) => file === candidate || file.startsWith(`${candidate}/`))
    if (room !== undefined) return { room, floor }
  }
  return undefined
}

/** What is wrong with one file importing another; paths are relative to the root. */
export function fault(from: string, to: string): string | undefined {
  const [source, target] = [roomOf(from), roomOf(to)]
  if (source === undefined) return `${from} is in no room of the house`
  if (target === undefined) return `${from} imports ${to}, which is in no room of the house`
  if (target.room === source.room) return undefined
  if (target.floor > source.floor) return `${from} imports ${to}, a floor up`
  if (target.floor === source.floor) return `${from} imports ${to}, sideways`
  const isInside =
    target.floor === DOMAIN_FLOOR && !to.endsWith('/index.ts') && !/\.(test|contract|fixture)\.ts$/.test(from)
  if (isInside && !WORKSHOPS.has(source.room)) return `${from} imports ${to}, past its public index.ts`
  return undefined
}

const sourceFiles = (): string[] =>
  ['contracts', 'projections', 'services', 'bench', 'tools']
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    )
    // This file names imports that it does not make.
    .filter((file) => /\.(ts|js)$/.test(file) && !file.includes('node_modules') && file !== THIS_FILE)

const edgesOf = (file: string): string[] =>
  importsOf(readFileSync(join(ROOT, file), 'utf8'))
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative(ROOT, resolve(ROOT, dirname(file), specifier)))

/** One cycle, as the files along it; undefined where there is none. */
export function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): string[] | undefined => {
    if (done.has(file)) return undefined
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    path.push(file)
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next)
      if (cycle !== undefined) return cycle
    }
    path.pop()
    done.add(file)
    return undefined
  }
  for (const file of graph.keys()) {
    const cycle = visit(file)
    if (cycle !== undefined) return cycle
  }
  return undefined
}

describe('imports', () => {
  const graph = new Map(sourceFiles().map((file) => [file, edgesOf(file)]))

  test('run down the floors only, and into a service through its index', () => {
    const faults = [...graph].flatMap(([file, targets]) => targets.map((target) => fault(file, target)))
    expect(faults.filter((text) => text !== undefined)).toEqual([])
  })

  test('have no cycle', () => {
    expect(findCycle(graph)).toBeUndefined()
  })

  test('of packages in contracts and projections: zod alone; no I/O, clock or randomness', () => {
    const pure = [...graph.keys()].filter(
      (file) => /^(contracts|projections)\//.test(file) && !file.endsWith('.test.ts'),
    )
    expect(pure.length).toBeGreaterThan(10)
    for (const file of pure) {
      const text = readFileSync(join(ROOT, file), 'utf8')
      const packages = importsOf(text).filter((specifier) => !specifier.startsWith('.'))
      expect(
        packages.filter((name) => name !== 'zod'),
        file,
      ).toEqual([])
      expect(text, file).not.toMatch(/\bDate\.now\(|\bnew Date\(\)|Math\.random\(|\bprocess\.|\bfetch\(/)
    }
  })

  test('of the live client of a venue, a chain or a document store happen on their own floor only', () => {
    const owners: Record<string, string> = {
      '@eventstore/db-client': 'services/platform/event-store/',
      nats: 'services/platform/bus/',
      ioredis: 'services/platform/cache/',
      fastify: 'services/api/',
      ccxt: 'services/market/live/',
      nodemailer: 'services/accounts/',
      '@modelcontextprotocol/server': 'services/api/mcp/',
      'hyparquet-writer': 'services/analyst/',
    }
    const faults: string[] = []
    for (const file of graph.keys()) {
      if (/\.test\.ts$|^bench\/|test-servers/.test(file)) continue
      const text = readFileSync(join(ROOT, file), 'utf8')
      for (const name of importsOf(text.replaceAll(/import type [^\n]*\n/g, ''))) {
        const owner = owners[name]
        if (owner !== undefined && !file.startsWith(owner)) faults.push(`${file} imports ${name}`)
      }
    }
    expect(faults).toEqual([])
  })
})

describe('the test itself', () => {
  test('finds imports of every kind', () => {
    const text = `import a from './a.ts'\nimport { type B } from "../b.ts"\nexport * from './c.ts'\nimport './d.ts'\nawait import('./e.ts')`
    expect(importsOf(text)).toEqual(['./a.ts', '../b.ts', './c.ts', './d.ts', './e.ts'])
  })

  test.each([
    ['contracts/a.ts', 'services/platform/b.ts', 'a floor up'],
    ['services/market/a.ts', 'services/engine/index.ts', 'sideways'],
    ['services/market/a.ts', 'services/api/index.ts', 'a floor up'],
    ['services/composition/a.ts', 'services/market/inner.ts', 'past its public index.ts'],
    ['services/attic/a.ts', 'contracts/b.ts', 'no room'],
  ])('%s → %s is a fault', (from, to, words) => {
    expect(fault(from, to)).toContain(words)
  })

  test('finds a cycle', () => {
    const graph = new Map([
      ['a', ['b']],
      ['b', ['c', 'd']],
      ['c', []],
      ['d', ['b']],
    ])
    expect(findCycle(graph)).toEqual(['b', 'd', 'b'])
  })
})
