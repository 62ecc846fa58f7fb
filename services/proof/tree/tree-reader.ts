import { assert } from '../../../contracts/errors/assert.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
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
export interface TileRow extends JsonObject {
  readonly data: string
}

/** Entries, and the position of the log after which their events are found. */
export interface EntriesRow extends TileRow {
  readonly after: Position
}

export interface SizeRow extends JsonObject {
  readonly size: number
  /** Position of the newest entry. */
  readonly position: Position
}

export type TreeRow = EntriesRow | TileRow | SizeRow

export const SIZE_KEY = 'size'
export const entriesKey = (tile: number): string => `entries/${tile}`
/** @param level from 1: hashes of the entries follow from the entries */
export const tileKey = (level: number, tile: number): string => `tile/${level}/${tile}`

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
    if ((size + 1) % TILE_WIDTH !== 0) return
    addHash(rows, 1, tile, tileRoot(partsOf(Buffer.from(data, 'base64'), ENTRY_BYTES).map(leafHash)))
  },
}

/** Entries or hashes that follow one another. */
export const partsOf = (bytes: Buffer, length: number): Buffer[] =>
  Array.from({ length: bytes.length / length }, (_, at) => bytes.subarray(at * length, (at + 1) * length))

function tileRoot(hashes: readonly Hash[]): Hash {
  assert(hashes.length === TILE_WIDTH, 'a tile that is full has 256 hashes', hashes.length)
  return hashesOver(hashes)(TILE_LEVELS, 0)
}

/** Hashes of full tiles are those of the level above. */
function addHash(rows: Rows<TreeRow>, level: number, index: number, hash: Hash): void {
  const tile = Math.floor(index / TILE_WIDTH)
  const key = tileKey(level, tile)
  const before = rows.get(key) as TileRow | undefined
  // 32 bytes do not fill base64 to the end, so that texts of hashes cannot be put together.
  const whole = Buffer.concat([Buffer.from(before?.data ?? '', 'base64'), hash])
  rows.put(key, { data: whole.toString('base64') })
  if ((index + 1) % TILE_WIDTH === 0) addHash(rows, level + 1, tile, tileRoot(partsOf(whole, HASH_BYTES)))
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
