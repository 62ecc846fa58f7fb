import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { partitionPoint } from '../../../contracts/partition-point.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { ENTRY_BYTES } from './entry.ts'
import { HASH_BYTES, type Hash, type HashSource, hashesOver, inclusionProof, rootOf } from './merkle.ts'
import { TILE_WIDTH, type TilePath, tileWidth } from './tile-path.ts'
import {
  type EntriesRow,
  entriesKey,
  hashesIn,
  leafHashes,
  NODE_LEVEL,
  NODE_WIDTH,
  nodesKey,
  partsOf,
  SIZE_KEY,
  type SizeRow,
  type TileRow,
  tileKey,
} from './transparency-tree.ts'

/** Tiles that are held as hashes: a proof passes one at each level. */
const TILES_HELD = 64

/** The tree of this process, as far as it holds the log. */
export type TreeReader = ReturnType<typeof createTreeReader>

/** @param get reads a row of the read model; its errors are passed on */
export function createTreeReader(get: (key: string) => JsonObject | undefined) {
  const held = new RecentMap<string, Tile>(TILES_HELD)

  const size = (): number => (get(SIZE_KEY) as SizeRow | undefined)?.size ?? 0
  const rowOf = (tile: number): EntriesRow | undefined => get(entriesKey(tile)) as EntriesRow | undefined
  /** All entries of a tile, one after the other. */
  const entries = (tile: number): Buffer => Buffer.from(rowOf(tile)?.data ?? '', 'base64')

  const hashesAt = (key: string): Hash[] =>
    hashesIn(Buffer.from((get(key) as TileRow | undefined)?.data ?? '', 'base64'))

  /** @param of the size of the tree: each proof passes the last tiles, which are held until the next event joins. */
  function hashes(level: number, tile: number, of: number): Tile {
    const key = tileKey(level, tile)
    const width = tileWidth({ kind: level, index: tile }, of)
    const name = width === TILE_WIDTH ? key : `${key} ${width}`
    const known = held.get(name)
    if (known !== undefined) return known
    const all = level === 0 ? [] : hashesAt(key)
    const read =
      level === 0
        ? leafTile(entries(tile), () => hashesAt(nodesKey(tile)))
        : { hashes: () => all, whole: hashesOver(all) }
    held.set(name, read)
    return read
  }

  /** Hashes of complete subtrees, of a tree that no event joins meanwhile. */
  const source =
    (of: number): HashSource =>
    (level, index) => {
      const inner = level % 8
      const perTile = TILE_WIDTH / 2 ** inner
      return hashes(Math.floor(level / 8), Math.floor(index / perTile), of).whole(inner, index % perTile)
    }

  /** @returns the size of the tree */
  function within(wanted: number): number {
    const all = size()
    if (Number.isSafeInteger(wanted) && wanted >= 0 && wanted <= all) return all
    throw new RangeError(`the tree has ${all} entries, not ${wanted}`)
  }

  return {
    size,
    /** @throws RangeError for a size beyond the tree; as every question of this reader */
    root(wanted: number): Hash {
      return rootOf(source(within(wanted)), wanted)
    },
    inclusion(index: number, wanted: number): Hash[] {
      const all = within(wanted)
      if (index >= wanted) throw new RangeError(`entry ${index} is not in a tree of ${wanted}`)
      return inclusionProof(source(all), index, wanted)
    },
    /** Hashes, or entries in the format of bundles; undefined for a tile that is not there, or narrower. */
    tile(path: TilePath): Buffer | undefined {
      const all = size()
      if (path.kind === 'contents' || path.width > tileWidth(path, all)) return undefined
      if (path.kind === 'entries') return bundleOf(entries(path.index), path.width)
      const known = hashes(path.kind, path.index, all).hashes()
      // Its row may be newer than what was asked for, and is never older.
      return Buffer.concat(known.slice(0, path.width), path.width * HASH_BYTES)
    },
    entries,
    /** The position of the log after which the entries of a tile are found. */
    after: (tile: number): Position | undefined => rowOf(tile)?.after,
    /** The tile among whose entries an event is, if it is one. */
    tileOf: (position: Position): number =>
      tileOf(Math.ceil(size() / TILE_WIDTH), (tile) => rowOf(tile)?.after, position),
  }
}

interface Tile {
  readonly hashes: () => readonly Hash[]
  readonly whole: HashSource
}

/**
 * The hashes of a tile of entries. Sixteen entries are hashed where one of them is asked for, and the others only where
 * their hashes are not kept: a proof of an entry that nobody asked for lately takes 46 hashes instead of 511.
 */
function leafTile(entries: Buffer, kept: () => readonly Hash[]): Tile {
  const width = entries.length / ENTRY_BYTES
  const leavesOf = (from: number, to: number): Hash[] =>
    leafHashes(entries.subarray(from * ENTRY_BYTES, to * ENTRY_BYTES))
  const groups: HashSource[] = []
  const group = (at: number): HashSource => {
    groups[at] ??= hashesOver(leavesOf(at * NODE_WIDTH, (at + 1) * NODE_WIDTH))
    return groups[at]
  }
  let above: HashSource | undefined
  const nodes = (): HashSource => {
    const known = width === TILE_WIDTH ? kept() : []
    const length = Math.floor(width / NODE_WIDTH)
    return hashesOver(
      known.length === length ? known : Array.from({ length }, (_, at) => group(at)(NODE_LEVEL, 0)),
    )
  }
  return {
    hashes: () => leavesOf(0, width),
    whole(level, index) {
      if (level >= NODE_LEVEL) {
        above ??= nodes()
        return above(level - NODE_LEVEL, index)
      }
      const perGroup = 2 ** (NODE_LEVEL - level)
      return group(Math.floor(index / perGroup))(level, index % perGroup)
    },
  }
}

/** @throws ServiceError `internal_error` for a tile that is missing */
const tileOf = (tiles: number, afterOf: (tile: number) => Position | undefined, position: Position): number =>
  partitionPoint(tiles - 1, (before) => {
    const after = afterOf(before + 1)
    if (after === undefined)
      throw new ServiceError('internal_error', { message: `tile ${before + 1} is missing` })
    return comparePositions(after, position) < 0
  })

/** Entries, each after its length in two bytes. */
function bundleOf(entries: Buffer, width: number): Buffer {
  assert(
    entries.length >= width * ENTRY_BYTES,
    'a tile holds the entries that the size of the tree demands',
    entries.length,
  )
  const parts = partsOf(entries.subarray(0, width * ENTRY_BYTES), ENTRY_BYTES)
  return Buffer.concat(parts.flatMap((entry) => [LENGTH, entry]))
}
const LENGTH = Buffer.of(0, ENTRY_BYTES)
