import { assert } from '../../../contracts/assert.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import type { JsonObject } from '../../../contracts/json.ts'
import { comparePositions, type Position } from '../../../contracts/position.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { ENTRY_BYTES } from './entry.ts'
import { consistencyProof, HASH_BYTES, type Hash, hashesOver, inclusionProof, rootOf } from './merkle.ts'
import { TILE_WIDTH, type TilePath, tileWidth } from './tile-path.ts'
import {
  type EntriesRow,
  entriesKey,
  hashesIn,
  leafHashes,
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
  const held = new RecentMap<
    string,
    { readonly hashes: readonly Hash[]; readonly whole: ReturnType<typeof hashesOver> }
  >(TILES_HELD)

  const size = (): number => (get(SIZE_KEY) as SizeRow | undefined)?.size ?? 0
  const rowOf = (tile: number): EntriesRow | undefined => get(entriesKey(tile)) as EntriesRow | undefined
  /** All entries of a tile, one after the other. */
  const entries = (tile: number): Buffer => Buffer.from(rowOf(tile)?.data ?? '', 'base64')

  function hashes(level: number, tile: number) {
    const key = tileKey(level, tile)
    const known = held.get(key)
    if (known !== undefined) return known
    const row = level === 0 ? undefined : (get(key) as TileRow | undefined)
    const all = level === 0 ? leafHashes(entries(tile)) : hashesIn(Buffer.from(row?.data ?? '', 'base64'))
    const read = { hashes: all, whole: hashesOver(all) }
    if (all.length < TILE_WIDTH) return read
    held.set(key, read)
    return read
  }

  /** Hashes of complete subtrees, of a tree that no event joins meanwhile. */
  function source() {
    const seen = new Map<string, ReturnType<typeof hashes>>()
    return (level: number, index: number): Hash => {
      const tileLevel = Math.floor(level / 8)
      const inner = level % 8
      const perTile = TILE_WIDTH / 2 ** inner
      const tile = Math.floor(index / perTile)
      const key = tileKey(tileLevel, tile)
      const at = seen.get(key) ?? hashes(tileLevel, tile)
      seen.set(key, at)
      return at.whole(inner, index % perTile)
    }
  }

  function within(wanted: number): void {
    if (!Number.isSafeInteger(wanted) || wanted < 0 || wanted > size())
      throw new RangeError(`the tree has ${size()} entries, not ${wanted}`)
  }

  return {
    size,
    /** @throws RangeError for a size beyond the tree; as every question of this reader */
    root(wanted: number): Hash {
      within(wanted)
      return rootOf(source(), wanted)
    },
    inclusion(index: number, wanted: number): Hash[] {
      within(wanted)
      if (index >= wanted) throw new RangeError(`entry ${index} is not in a tree of ${wanted}`)
      return inclusionProof(source(), index, wanted)
    },
    consistency(from: number, to: number): Hash[] {
      within(to)
      if (from > to) throw new RangeError(`a tree of ${from} is no beginning of one of ${to}`)
      return consistencyProof(source(), from, to)
    },
    /** Hashes, or entries in the format of bundles; undefined for a tile that is not there, or narrower. */
    tile(path: TilePath): Buffer | undefined {
      if (path.width > tileWidth(path, size())) return undefined
      if (path.kind === 'contents') return undefined
      if (path.kind === 'entries') return bundleOf(entries(path.index), path.width)
      const all = hashes(path.kind, path.index).hashes
      // Its row may be newer than what was asked for, and is never older.
      return Buffer.concat(all.slice(0, path.width), path.width * HASH_BYTES)
    },
    entries,
    /** The position of the log after which the entries of a tile are found. */
    after: (tile: number): Position | undefined => rowOf(tile)?.after,
    /** The tile among whose entries an event is, if it is one. */
    tileOf: (position: Position): number =>
      tileOf(Math.ceil(size() / TILE_WIDTH), (tile) => rowOf(tile)?.after, position),
  }
}

/** @throws ServiceError `internal_error` for a tile that is missing */
function tileOf(tiles: number, afterOf: (tile: number) => Position | undefined, position: Position): number {
  let [low, high] = [0, Math.max(0, tiles - 1)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const after = afterOf(middle)
    if (after === undefined)
      throw new ServiceError('internal_error', { message: `tile ${middle} is missing` })
    if (comparePositions(after, position) < 0) low = middle
    else high = middle - 1
  }
  return low
}

/** Entries, each after its length in two bytes. */
function bundleOf(entries: Buffer, width: number): Buffer {
  assert(
    entries.length >= width * ENTRY_BYTES,
    'a tile holds the entries that the size of the tree demands',
    entries.length,
  )
  const bundle = Buffer.allocUnsafe(width * (2 + ENTRY_BYTES))
  for (let index = 0; index < width; index++) {
    const at = bundle.writeUInt16BE(ENTRY_BYTES, index * (2 + ENTRY_BYTES))
    entries.copy(bundle, at, index * ENTRY_BYTES, (index + 1) * ENTRY_BYTES)
  }
  return bundle
}
