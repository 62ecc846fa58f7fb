import { assert } from '../../../contracts/errors/assert.ts'
import type { JsonObject } from '../../../contracts/infra/json.ts'
import { partitionPoint } from '../../../contracts/infra/partition-point.ts'
import { comparePositions, type Position, START } from '../../../contracts/infra/position.ts'
import type { RecordedProjection, Rows } from '../../../projections/projection.ts'
import { RecentMap } from '../../runtime/cache/recent-map.ts'
import { ENTRY_BYTES, ENTRY_TYPES, encodeEntry, entryOf } from './entry.ts'
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

/** Base64 of entries or of hashes, one after the other: no row is longer than a tile. */
interface TileRow extends JsonObject {
  readonly data: string
}

/** Entries, and the position of the log after which their events are found. */
interface EntriesRow extends TileRow {
  readonly after: Position
}

/** How many entries there are, and the position of the newest one. */
interface SizeRow extends JsonObject {
  readonly size: number
  readonly position: Position
}

export type TreeRow = EntriesRow | TileRow | SizeRow

const SIZE_KEY = 'size'
const entriesKey = (tile: number): string => `entries/${tile}`
/** @param level from 1: hashes of the entries follow from the entries */
const tileKey = (level: number, tile: number): string => `tile/${level}/${tile}`

/**
 * The Merkle tree over the public events, in the order of the log. It commits to events as they were appended, so a later
 * schema changes nothing in it.
 */
export const transparencyTree: RecordedProjection<TreeRow> = {
  name: 'transparency_tree',
  version: 1,
  events: ENTRY_TYPES,
  needs: 'recorded',
  fold(rows, event) {
    const { size, position } = (rows.get(SIZE_KEY) as SizeRow | undefined) ?? { size: 0, position: START }
    const tile = Math.floor(size / TILE_WIDTH)
    const before = rows.get(entriesKey(tile)) as EntriesRow | undefined
    const data = (before?.data ?? '') + encodeEntry(entryOf(event)).toString('base64')
    rows.put(entriesKey(tile), { after: before?.after ?? position, data })
    rows.put(SIZE_KEY, { size: size + 1, position: event.position })
    if ((size + 1) % TILE_WIDTH === 0)
      addHash(rows, 1, tile, tileRoot(partsOf({ data }, ENTRY_BYTES).map(leafHash)))
  },
}

/** Entries or hashes of a row. */
function partsOf(row: JsonObject | undefined, length: number): Buffer[] {
  const bytes = Buffer.from((row as TileRow | undefined)?.data ?? '', 'base64')
  return Array.from({ length: bytes.length / length }, (_, at) =>
    bytes.subarray(at * length, (at + 1) * length),
  )
}

function tileRoot(hashes: readonly Hash[]): Hash {
  assert(hashes.length === TILE_WIDTH, 'a tile that is full has 256 hashes', hashes.length)
  return hashesOver(hashes)(TILE_LEVELS, 0)
}

/** Hashes of full tiles are those of the level above. */
function addHash(rows: Rows<TreeRow>, level: number, index: number, hash: Hash): void {
  const tile = Math.floor(index / TILE_WIDTH)
  // 32 bytes do not fill base64 to the end, so that texts of hashes cannot be put together.
  const hashes = [...partsOf(rows.get(tileKey(level, tile)), HASH_BYTES), hash]
  rows.put(tileKey(level, tile), { data: Buffer.concat(hashes).toString('base64') })
  if (hashes.length === TILE_WIDTH) addHash(rows, level + 1, tile, tileRoot(hashes))
}

/** Tiles whose hashes are cached: a proof passes one at each level. */
const TILES_CACHED = 64
const ENTRY_LENGTH = Buffer.of(0, ENTRY_BYTES)

/** The tree of this process, as far as it holds the log. */
export type TreeReader = ReturnType<typeof createTreeReader>

/** @param get reads a row of the read model; its errors are passed on */
export function createTreeReader(get: (key: string) => JsonObject | undefined) {
  const cache = new RecentMap<string, HashSource>(TILES_CACHED)
  const size = (): number => (get(SIZE_KEY) as SizeRow | undefined)?.size ?? 0
  const entries = (tile: number): Buffer[] => partsOf(get(entriesKey(tile)), ENTRY_BYTES)
  const hashes = (level: number, tile: number): Hash[] =>
    level === 0 ? entries(tile).map(leafHash) : partsOf(get(tileKey(level, tile)), HASH_BYTES)
  const after = (tile: number): Position | undefined =>
    (get(entriesKey(tile)) as EntriesRow | undefined)?.after

  /**
   * Hashes of complete subtrees; the last tiles are cached until the next event joins. @throws RangeError for a size
   * beyond the tree
   */
  function sourceOf(wanted: number): HashSource {
    const all = size()
    if (!Number.isSafeInteger(wanted) || wanted < 0 || wanted > all)
      throw new RangeError(`the tree has ${all} entries, not ${wanted}`)
    return (level, index) => {
      const [tileLevel, inner] = [Math.floor(level / TILE_LEVELS), level % TILE_LEVELS]
      const perTile = TILE_WIDTH / 2 ** inner
      const tile = Math.floor(index / perTile)
      const name = `${tileLevel}/${tile}/${tileWidth({ kind: tileLevel, index: tile }, all)}`
      const known = cache.get(name) ?? hashesOver(hashes(tileLevel, tile))
      cache.set(name, known)
      return known(inner, index % perTile)
    }
  }

  return {
    size,
    /** @throws RangeError for a size beyond the tree */
    root: (wanted: number): Hash => rootOf(sourceOf(wanted), wanted),
    /** @throws RangeError for a size beyond the tree, or an entry beyond that size */
    inclusion: (index: number, wanted: number): Hash[] => inclusionProof(sourceOf(wanted), index, wanted),
    /** Hashes, or entries, each after its length in two bytes; undefined for a tile that is not there, or narrower. */
    tile({ kind, index, width }: TilePath): Buffer | undefined {
      if (kind === 'contents' || width > tileWidth({ kind, index }, size())) return undefined
      const parts = kind === 'entries' ? entries(index) : hashes(kind, index)
      assert(parts.length >= width, 'a tile is as wide as the size of the tree demands', parts.length)
      const shown = parts.slice(0, width)
      return Buffer.concat(kind === 'entries' ? shown.flatMap((entry) => [ENTRY_LENGTH, entry]) : shown)
    },
    /** The position of the log after which the entries of a tile are found. */
    after,
    /** The tile among whose entries an event is, if it is one. */
    tileOf: (position: Position): number =>
      partitionPoint(Math.ceil(size() / TILE_WIDTH) - 1, (before) => {
        const begin = after(before + 1)
        assert(begin !== undefined, 'every tile of the tree has its entries', before + 1)
        return comparePositions(begin, position) < 0
      }),
  }
}
