import { hash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordedEvent } from '../../../contracts/infra/event.ts'
import { rowsInMemory } from '../../../projections/projection.ts'
import { decodeEntry, ENTRY_BYTES, encodeEntry, entryOf } from './entry.ts'
import {
  EMPTY_ROOT,
  GrowingTree,
  type Hash,
  hashesOver,
  leafHash,
  nodeHash,
  rootOf,
  rootOfInclusion,
} from './merkle.ts'
import { formatTilePath, parseTilePath, tileWidth } from './tile-path.ts'
import { createTreeReader, type TreeRow, transparencyTree } from './tree-reader.ts'

const event = (index: number): RecordedEvent => ({
  id: `id-${index}`,
  stream: 'outcome-SIM.BTC.1m',
  revision: index,
  position: String(2 * index + 1),
  type: 'OutcomeLabelled',
  schema: 2,
  at: '2025-01-01T00:00:00.000Z',
  data: { index },
  meta: { correlationId: 'test', actor: 'test' },
})

/** The definition of RFC 6962, read word for word. */
function definition(leaves: readonly Hash[]): Hash {
  const [only] = leaves
  if (only === undefined) return hash('sha256', '', 'buffer')
  if (leaves.length === 1) return only
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  return nodeHash(definition(leaves.slice(0, split)), definition(leaves.slice(split)))
}

const SIZE = 700
const rows = rowsInMemory<TreeRow>()
const leaves: Hash[] = []
for (let index = 0; index < SIZE; index++) {
  transparencyTree.fold(rows, event(index))
  leaves.push(leafHash(encodeEntry(entryOf(event(index)))))
}
const tree = createTreeReader((key) => rows.get(key))

test('a node and a leaf of RFC 6962', () => {
  // Vectors of the reference implementation of certificate transparency.
  const [empty, zero] = [leafHash(Buffer.alloc(0)), leafHash(Buffer.of(0))]
  expect(empty.toString('hex')).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
  expect(nodeHash(empty, zero).toString('hex')).toBe(
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  )
})

test('roots and proofs from tiles are those of the definition, at every size, and hold for nothing else', () => {
  const size = fc.integer({ min: 1, max: SIZE })
  fc.assert(
    fc.property(size, fc.nat(), (to, some) => {
      const index = some % to
      const root = definition(leaves.slice(0, to))
      expect(tree.root(to)).toEqual(root)
      const leaf = leaves[index] ?? EMPTY_ROOT
      const inclusion = tree.inclusion(index, to)
      expect(rootOfInclusion({ index, size: to }, leaf, inclusion)).toEqual(root)
      expect(rootOfInclusion({ index, size: to }, leaf, [...inclusion, root])).not.toEqual(root)
      if (to > 1)
        expect(rootOfInclusion({ index: (index + 1) % to, size: to }, leaf, inclusion)).not.toEqual(root)
      const growing = new GrowingTree()
      for (const one of leaves.slice(0, to)) growing.add(one)
      expect(growing.root()).toEqual(root)
    }),
    { numRuns: 150 },
  )
  expect(rootOf(hashesOver([]), 0)).toEqual(EMPTY_ROOT)
  expect(new GrowingTree().root()).toEqual(EMPTY_ROOT)
  for (const beyond of [SIZE + 1, -1, 1.5]) expect(() => tree.root(beyond)).toThrow(RangeError)
})

test('the same log gives the same tree however it is cut into batches, and events are found by their position', () => {
  const again = rowsInMemory<TreeRow>()
  for (let index = 0; index < SIZE; index++) transparencyTree.fold(again, event(index))
  expect([...again.entries]).toEqual([...rows.entries])
  expect([0, 255, 256, 511, 512, 699].map((index) => tree.tileOf(event(index).position))).toEqual([
    0, 0, 1, 1, 2, 2,
  ])
  expect([0, 1, 2].map((tile) => tree.after(tile))).toEqual([
    'start',
    event(255).position,
    event(511).position,
  ])
})

describe('tiles', () => {
  test('hold hashes by level, and entries with their length in front', () => {
    const tile = (path: string) => {
      const parsed = parseTilePath(path)
      return parsed && tree.tile(parsed)
    }
    expect(tile('tile/0/000')).toEqual(Buffer.concat(leaves.slice(0, 256)))
    expect(tile('tile/0/002.p/3')).toEqual(Buffer.concat(leaves.slice(512, 515)))
    const full = [definition(leaves.slice(0, 256)), definition(leaves.slice(256, 512))]
    expect(tile('tile/1/000.p/2')).toEqual(Buffer.concat(full))
    expect(['tile/0/003', 'tile/0/002', 'tile/1/000.p/3', 'tile/2/000.p/1'].map(tile)).toEqual(
      Array(4).fill(undefined),
    )
    const bundle = tile('tile/entries/002.p/2') ?? Buffer.alloc(0)
    expect(bundle.length).toBe(2 * (2 + ENTRY_BYTES))
    expect(bundle.readUInt16BE(0)).toBe(ENTRY_BYTES)
    expect(leafHash(bundle.subarray(2, 2 + ENTRY_BYTES))).toEqual(leaves[512])
    expect(decodeEntry(bundle.subarray(2, 2 + ENTRY_BYTES))).toEqual(entryOf(event(512)))
  })

  test.each([
    ['tile/0/x001/x234/067', { kind: 0, index: 1_234_067, width: 256 }],
    ['tile/entries/x001/000.p/255', { kind: 'entries', index: 1_000, width: 255 }],
    ['contents/000', { kind: 'contents', index: 0, width: 256 }],
  ] as const)('%s', (path, tile) => {
    expect(parseTilePath(path)).toEqual(tile)
    expect(formatTilePath(tile)).toBe(path)
  })

  test.each([
    'tile/0/0',
    'tile/0/x000/001',
    'tile/00/000',
    'tile/64/000',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/000.p/01',
    'tile/0/1000',
    'tile/-1/000',
    'tile/0/000/',
    'tile/0/x999/x999/x999/x999/x999/x999/999',
    'contents/entries/000',
    '',
    '..',
  ])('%j names none', (path) => expect(parseTilePath(path)).toBeUndefined())

  test('are as wide as the tree is long', () => {
    const widths = [0, 255, 256, 65_535, 65_536].map((size) =>
      [0, 1, 2].map((kind) => tileWidth({ kind, index: 0 }, size)),
    )
    expect(widths).toEqual([
      [0, 0, 0],
      [255, 0, 0],
      [256, 1, 0],
      [256, 255, 0],
      [256, 256, 1],
    ])
  })
})
