import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf } from './imports-of.fixture.ts'
import {
  findCycle,
  importFault,
  innerGraph,
  LAYERS,
  OWNERS,
  packageFault,
  packagesOf,
  readGraph,
} from './rooms.fixture.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const graph = readGraph()

/** The modules that a file loads with itself: neither types nor what it loads later. */
const loadedBy = (text: string): string[] =>
  [...text.matchAll(/^(?:import|export)(?! type)\s(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm)].map(
    (match) => match[1] ?? '',
  )

describe('imports', () => {
  test('run down the layers only, and into a room through its index', () => {
    const faults = [...graph].flatMap(([file, targets]) => targets.map((target) => importFault(file, target)))
    expect(faults.filter((text) => text !== undefined)).toEqual([])
  })

  test('have no cycle', () => {
    expect(findCycle(graph)).toBeUndefined()
  })

  test.each(LAYERS.flat())('have no cycle between the folders of %s', (room) => {
    expect(findCycle(innerGraph(graph, room))).toBeUndefined()
  })

  test('of packages in contracts and projections: zod alone, and in one file the distance of words; no I/O, clock or randomness', () => {
    const pure = [...graph.keys()].filter(
      (file) => /^(contracts|projections)\//.test(file) && !/\.(?:test|contract)\.ts$/.test(file),
    )
    expect(pure.length).toBeGreaterThan(10)
    for (const file of pure) {
      const text = readFileSync(join(ROOT, file), 'utf8')
      const packages = importsOf(text).filter((specifier) => !specifier.startsWith('.'))
      const own = file === 'contracts/infra/input-faults.ts' ? ['fastest-levenshtein'] : []
      expect([file, packages.filter((name) => name !== 'zod')]).toEqual([file, own])
      expect(text, file).not.toMatch(/\bDate\.now\(|\bnew Date\(\)|Math\.random\(|\bprocess\.|\bfetch\(/)
    }
  })

  test('of a chain, an HTTP client, a database, a venue or native code happen where they belong', () => {
    const faults = [...graph.keys()].flatMap((file) =>
      packagesOf(file).map((name) => packageFault(file, name)),
    )
    expect(faults.filter((text) => text !== undefined)).toEqual([])
  })

  test('of libraries of a chain, a server, a venue, a format or a collector are not loaded before they are needed', () => {
    const entries = ['services/main.ts', 'services/composition/start-service.ts']
    const [files, packages] = [new Set(entries), new Set<string>()]
    for (const file of files)
      for (const target of loadedBy(readFileSync(join(ROOT, file), 'utf8')))
        if (target.startsWith('.')) files.add(relative(ROOT, resolve(ROOT, dirname(file), target)))
        else packages.add(target)
    expect(files.size).toBeGreaterThan(300)
    const late = /^(viem|ccxt|nats|ioredis|jose|nodemailer|hyparquet-writer|@eventstore)(\/|$)/
    expect([...packages].filter((name) => late.test(name))).toEqual([])
  })

  test('of every package that ships have an owner', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>
    }
    expect(Object.keys(dependencies).filter((name) => name !== 'zod' && OWNERS[name] === undefined)).toEqual(
      [],
    )
  })
})

/** A value that is read, and written after others could have changed it: `sum += await add()`. */
const TORN_SUM = /(?:[-+*/%|&^]=(?!=)|(\b[\w.#]+) = \1 [-+*/%|&^]) ?[^;)\n]*\bawait\b/

test('no sum is read before an await and written after it', () => {
  const sources = [...graph.keys()].filter((file) => !/\.(?:test|contract)\.ts$/.test(file))
  expect(sources.filter((file) => TORN_SUM.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([])
})

describe('the test itself', () => {
  test.each(['a += await b()', 'a.b -= (await c()).length', 'a.n = a.n + (await b())'])(
    'finds that %s loses what is added meanwhile',
    (text) => {
      expect(TORN_SUM.test(text)).toBe(true)
    },
  )
  test.each([
    'a ??= await b()',
    'a === (await b())',
    'for (let n = 0; n < 9; n += 2) await b()',
    'a = b + (await c())',
  ])('lets %s pass', (text) => {
    expect(TORN_SUM.test(text)).toBe(false)
  })

  test('finds imports of every kind', () => {
    const text = `import a from './a.ts'\nimport { type B } from "../b.ts"\nexport * from './c.ts'\nimport './d.ts'\nawait import('./e.ts')`
    expect(importsOf(text)).toEqual(['./a.ts', '../b.ts', './c.ts', './d.ts', './e.ts'])
  })

  test.each([
    ['contracts/a.ts', 'services/runtime/b.ts', 'a layer up'],
    ['services/market/a.ts', 'services/engine/index.ts', 'sideways'],
    ['services/market/a.ts', 'services/http/index.ts', 'a layer up'],
    ['services/cli/a.ts', 'services/main.ts', 'a layer up'],
    ['services/composition/a.ts', 'services/market/inner.ts', 'past its public index.ts'],
    ['services/http/a.ts', 'services/tool-calls/inner.ts', 'past its public index.ts'],
    ['services/attic/a.ts', 'contracts/b.ts', 'no room'],
  ])('%s → %s is a fault', (from, to, words) => {
    expect(importFault(from, to)).toContain(words)
  })

  test.each([
    ['services/webhooks/sending/a.ts', 'viem'],
    ['services/accounts/a.ts', 'viem/accounts'],
    ['services/payments/settlement/a.ts', 'undici'],
    ['services/payments/chain/a.ts', 'secp256k1'],
    ['services/engine/a.ts', 'node:sqlite'],
    ['services/market/live/a.ts', 'node:worker_threads'],
    ['services/main.ts', 'fastify'],
  ])('%s importing %s is a fault', (file, name) => {
    expect(packageFault(file, name)).toBe(`${file} imports ${name}`)
  })

  test('a package whose name only begins like another has no owner', () => {
    expect(packageFault('services/engine/a.ts', 'undici-types')).toBeUndefined()
  })

  test('tests and benches may import any package', () => {
    expect(packageFault('services/http/a.test.ts', 'undici')).toBeUndefined()
    expect(packageFault('bench/a.bench.ts', 'viem')).toBeUndefined()
  })

  test('finds a cycle', () => {
    const cyclic = new Map([
      ['a', ['b']],
      ['b', ['c', 'd']],
      ['c', []],
      ['d', ['b']],
    ])
    expect(findCycle(cyclic)).toEqual(['b', 'd', 'b'])
  })

  test('finds a cycle between folders that no files make', () => {
    const files = new Map([
      ['room/a/1.ts', ['room/b/1.ts']],
      ['room/b/2.ts', ['room/a/2.ts', 'room/shared.ts']],
      ['room/shared.ts', ['room/a/1.ts']],
    ])
    expect(findCycle(files)).toBeUndefined()
    expect(findCycle(innerGraph(files, 'room'))).toEqual(['a', 'b', 'a'])
  })
})
