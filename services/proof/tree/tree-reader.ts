import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { partitionPoint } from '../../../contracts/infra/partition-point.ts'
import { comparePositions, type Position } from '../../../contracts/infra/position.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { ENTRY_BYTES } from './entry.ts'
import {
  HASH_BYTES,
  type Hash,
  type HashSource,
  hashesOver,
  inclusionProof,
  leafHash,
  rootOf,
} from './merkle.ts'
import { TILE_LEVELS, TILE_WIDTH, type TilePath, tileWidth } from './tile-path.ts'
import {
  type EntriesRow,
  entriesKey,
  partsOf,
  SIZE_KEY,
  type SizeRow,
  type TileRow,
  tileKey,
} from './transparency-tree.ts'

/** Tiles whose hashes are cached: a proof passes one at each level. */
const TILES_CACHED = 64
const ENTRY_LENGTH = Buffer.of(0, ENTRY_BYTES)

/** The tree of this process, as far as it holds the log. */
export type TreeReader = ReturnType<typeof createTreeReader>

/** @param get reads a row of the read model; its errors are passed on */
export function createTreeReader(get: (key: string) => JsonObject | undefined) {
  const cache = new RecentMap<string, HashSource>(TILES_CACHED)

  const size = (): number => (get(SIZE_KEY) as SizeRow | undefined)?.size ?? 0
  const entriesRow = (tile: number) => get(entriesKey(tile)) as EntriesRow | undefined
  const entries = (tile: number): Buffer[] =>
    partsOf(Buffer.from(entriesRow(tile)?.data ?? '', 'base64'), ENTRY_BYTES)

  function hashes(level: number, tile: number): Hash[] {
    if (level === 0) return entries(tile).map(leafHash)
    const row = get(tileKey(level, tile)) as TileRow | undefined
    return partsOf(Buffer.from(row?.data ?? '', 'base64'), HASH_BYTES)
  }

  /** Hashes of complete subtrees; the last tiles are cached until the next event joins. */
  const source =
    (treeSize: number): HashSource =>
    (level, index) => {
      const [tileLevel, inner] = [Math.floor(level / TILE_LEVELS), level % TILE_LEVELS]
      const perTile = TILE_WIDTH / 2 ** inner
      const tile = Math.floor(index / perTile)
      const name = `${tileLevel}/${tile}/${tileWidth({ kind: tileLevel, index: tile }, treeSize)}`
      const known = cache.get(name) ?? hashesOver(hashes(tileLevel, tile))
      cache.set(name, known)
      return known(inner, index % perTile)
    }

  /** @returns the size of the tree */
  function requireWithin(wanted: number): number {
    const all = size()
    if (Number.isSafeInteger(wanted) && wanted >= 0 && wanted <= all) return all
    throw new RangeError(`the tree has ${all} entries, not ${wanted}`)
  }

  return {
    size,
    /** @throws RangeError for a size beyond the tree */
    root: (wanted: number): Hash => rootOf(source(requireWithin(wanted)), wanted),
    /** @throws RangeError for an entry or a size beyond the tree */
    inclusion(index: number, wanted: number): Hash[] {
      const all = requireWithin(wanted)
      if (index >= wanted) throw new RangeError(`entry ${index} is not in a tree of ${wanted}`)
      return inclusionProof(source(all), index, wanted)
    },
    /** Hashes, or entries, each after its length in two bytes; undefined for a tile that is not there, or narrower. */
    tile({ kind, index, width }: TilePath): Buffer | undefined {
      if (kind === 'contents' || width > tileWidth({ kind, index }, size())) return undefined
      const parts = kind === 'entries' ? entries(index) : hashes(kind, index)
      assert(parts.length >= width, 'a tile is as wide as the size of the tree demands', parts.length)
      const shown = parts.slice(0, width)
      return Buffer.concat(kind === 'entries' ? shown.flatMap((entry) => [ENTRY_LENGTH, entry]) : shown)
    },
    /** The position of the log after which the entries of a tile are found. */
    after: (tile: number): Position | undefined => entriesRow(tile)?.after,
    /** The tile among whose entries an event is, if it is one. @throws ServiceError `internal_error` for a missing tile */
    tileOf: (position: Position): number =>
      partitionPoint(Math.ceil(size() / TILE_WIDTH) - 1, (before) => {
        const after = entriesRow(before + 1)?.after
        if (after === undefined)
          throw new ServiceError('internal_error', { message: `tile ${before + 1} is missing` })
        return comparePositions(after, position) < 0
      }),
  }
}
